#pragma once

// One thread block while it runs: which warp goes on, and what each step does.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/random_stream.h"
#include "verify/ptx/machine/async_copies.h"
#include "verify/ptx/machine/block_barriers.h"
#include "verify/ptx/machine/block_memory.h"
#include "verify/ptx/machine/cluster_barrier.h"
#include "verify/ptx/machine/launch_run.h"
#include "verify/ptx/machine/reporter.h"
#include "verify/ptx/machine/warp.h"
#include "verify/ptx/machine/warpgroups.h"

namespace recto::ptx {

class ThreadBlock {
 public:
  explicit ThreadBlock(LaunchRun& run);
  ThreadBlock(const ThreadBlock&) = delete;
  ThreadBlock& operator=(const ThreadBlock&) = delete;

  // Starts a thread block; earlier state is forgotten.
  void begin(const ClusterPlace& place, ClusterBarrier& cluster);

  enum class State : std::uint8_t { kRunning, kDone, kStuck, kAbandoned };
  // Runs until the thread block ends, cannot go on, or, if `steps` are over, gives others their
  // turn.
  State run_for(std::uint64_t steps);
  bool has_moved() const { return has_moved_; }  // in that run
  // Grows with what ends waits.
  std::uint64_t progress() { return run_.progress + memory_.mbarriers().num_ended(); }

  // For a thread block that is stuck. Copies without a wait take place, and waits at
  // mbarriers, which may end before their phases do, end; false if there were none.
  bool deliver_copies();
  bool expire_waits();
  void report_stuck();

  BlockMemory& memory() { return memory_; }
  const std::vector<Warp>& warps() const { return warps_; }

 private:
  bool has_finished() const;
  void wake();
  Warp* choose_warp();
  void end_turn(Warp& warp, std::size_t group);
  bool is_random() const { return run_.options.schedule.policy >= SchedulePolicy::kRandomWarp; }

  void run_group(Warp& warp, std::size_t group);
  void run_straight(const WarpStep& at) const;
  void run_masked(const WarpStep& at) const;
  bool is_well_defined(Warp& warp, const Step& step, LaneMask lanes, LaneMask enabled);

  // What a step does, by kind: first those that may move their group.
  Next act(std::size_t group, const WarpStep& at);
  bool execute(const WarpStep& at);
  bool execute_async(const WarpStep& at);
  Next branch(std::size_t group, const WarpStep& at);
  Next branch_by_table(std::size_t group, const WarpStep& at);
  Next exit(std::size_t group, const WarpStep& at);
  Next wait_at_mbarrier(std::size_t group, const WarpStep& at);
  Next wait_at_cluster(std::size_t group, const WarpStep& at);
  bool arrive_at_cluster(const WarpStep& at);
  void pass_fence(const WarpStep& at);
  void tell_time(const WarpStep& at) const;

  // Instructions in which lanes of a warp meet: each waits until all lanes of its mask have
  // arrived, with the same mask.
  using LaneMasks = std::array<LaneMask, kWarpSize>;
  Next meet(std::size_t group, const WarpStep& at);
  void complete_meetings(Warp& warp);
  bool perform(const WarpStep& at, const LaneMasks& masks);
  void order_lanes(const WarpStep& at, const LaneMasks& masks);
  void multiply(const WarpStep& at) const;
  LaneMasks masks_of(const Warp& warp, const Step& step) const;

  const Detail& detail_of(const Step& step) const { return program_.details[step.detail]; }
  std::uint32_t index_of(const Step& step) const {
    return static_cast<std::uint32_t>(&step - program_.steps.data());
  }
  ClusterLanes cluster_lanes(const WarpStep& at) const {
    return {memory_.rank(), at.warp.number, at.lanes};
  }

  LaunchRun& run_;
  const Program& program_;
  Reporter reporter_;
  BlockMemory memory_;
  std::vector<Warp> warps_;
  std::vector<std::byte> registers_;
  BlockBarriers barriers_;
  AsyncCopies copies_;
  Warpgroups warpgroups_;
  ClusterBarrier* cluster_ = nullptr;
  RandomStream random_;
  std::uint32_t threads_ = 0;
  std::uint64_t steps_left_ = 0;   // of the turn
  std::uint64_t steps_taken_ = 0;  // of the thread block
  std::size_t last_warp_ = 0;
  bool has_moved_ = false;
  const LaneForm* blends_[9] = {};
};

}  // namespace recto::ptx

#pragma once

// One thread block while it runs: its warps, their lanes' places in the program, shared and local
// memory.
//
// A warp runs in groups of lanes that are at one step. Lanes part at branches; they meet again at
// the branch's post-dominator, but nothing relies on that: a group that waits there goes on if the
// warp cannot do without it. So lanes may be apart wherever independent thread scheduling allows.

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/random_stream.h"
#include "verify/ptx/checks/race_checker.h"
#include "verify/ptx/lanes/lane_tables.h"
#include "verify/ptx/machine/launch_run.h"
#include "verify/ptx/program/program.h"

namespace recto::ptx {

using LaneAddresses = std::array<std::uint64_t, kWarpSize>;

class ThreadBlock {
 public:
  explicit ThreadBlock(LaunchRun& run);

  // Starts the thread block with this index; earlier state is forgotten.
  void begin(std::uint64_t index);
  // An access of a warp's lanes.
  struct Access {
    const Step* step = nullptr;
    LaneMask lanes = 0;
    std::uint32_t bytes = 0;
    AccessKind kind = AccessKind::kRead;
    const char* verb = "reads";
  };

  enum class State : std::uint8_t { kRunning, kDone, kAbandoned };
  // Runs until the thread block ends or, if `steps` are over, gives others their turn.
  State run_for(std::uint64_t steps);

 private:
  static constexpr std::uint32_t kNoNode = ~std::uint32_t{0};
  static constexpr unsigned kBarriers = 16;

  // A branch at which lanes parted, and the step where they meet.
  struct Node {
    std::uint32_t join = kNoStep;
    std::uint32_t parent = kNoNode;
    LaneMask expected = 0;
    LaneMask arrived = 0;
  };
  enum class Wait : std::uint8_t { kNone, kBarrier, kMeeting };
  struct Group {
    std::uint32_t step = 0;
    LaneMask lanes = 0;
    std::uint32_t node = kNoNode;
    Wait wait = Wait::kNone;
    std::uint32_t barrier = 0;
    std::uint32_t turns = 0;  // that it has used up
  };
  struct PendingCopy {
    std::uint32_t destination = 0;  // in shared memory
    std::uint64_t source = 0;
    std::uint8_t bytes = 0;
    std::uint8_t source_bytes = 0;
    std::uint32_t group = 0;
    std::uint32_t place = 0;
    bool is_late = false;  // the bytes have not arrived yet
  };
  struct LaneCopies {
    std::vector<PendingCopy> pending = {};
    std::uint32_t committed = 0;
  };
  struct Warp {
    std::uint32_t number = 0;
    LaneMask live = 0;
    std::byte* registers = nullptr;
    std::vector<Group> groups = {};
    std::vector<Node> nodes = {};
    std::vector<LaneMask> undefined = {};  // by place / 4, if registers are tracked
    std::array<LaneCopies, kWarpSize> copies = {};
    bool has_copies = false;
  };
  struct Barrier {
    std::vector<LaneMask> arrived = {};  // by warp
    std::vector<LaneMask> waiting = {};
    std::uint32_t count = 0;
    bool is_used = false;
    std::uint32_t place = 0;
    std::uint32_t population = 0;  // of predicates
    bool all = true;
    bool any = false;
  };
  // What a step does to its group.
  enum class Next : std::uint8_t { kStep, kMoved, kBlocked, kEnded };

  // thread_block.cc
  Warp* choose_warp();
  std::size_t choose_group(const Warp& warp);
  bool release_joins(Warp& warp);
  void end_turn(Warp& warp, Group& group);
  void report_stuck();
  void fill_specials(Warp& warp);
  bool has_finished() const;

  // warp_run.cc
  void run_group(Warp& warp, std::size_t index);
  LaneMask enabled_lanes(const Warp& warp, const Step& step, LaneMask lanes) const;
  void count_straight(std::uint64_t steps);
  void pass_fence(const Warp& warp, const Step& step, LaneMask lanes);
  void tell_time(Warp& warp, const Step& step, LaneMask lanes);
  void run_masked(Warp& warp, const Step& step, LaneMask lanes);
  Next act(Warp& warp, std::size_t index, const Step& step, LaneMask lanes);
  Next branch(Warp& warp, std::size_t index, const Step& step, LaneMask taken);
  Next branch_by_table(Warp& warp, std::size_t index, const Step& step, LaneMask lanes);
  std::uint32_t part(Warp& warp, std::size_t index, std::uint32_t join);
  Next arrive_at_join(Warp& warp, std::size_t index);
  Next exit(Warp& warp, std::size_t index, const Step& step, LaneMask lanes);
  void complete_nodes(Warp& warp);

  // barrier.cc
  Next arrive_at_barrier(Warp& warp, std::size_t index, const Step& step, LaneMask lanes);
  static void add_predicates(Barrier& barrier, LaneMask truths, LaneMask lanes);
  bool is_elsewhere(const Warp& warp, std::size_t index, const Step& step, std::uint32_t number);
  void complete_barriers();
  bool is_complete(const Barrier& barrier) const;
  void release_barrier(std::uint32_t number);

  // warp_meeting.cc
  Next meet(Warp& warp, std::size_t index, const Step& step, LaneMask lanes);
  void complete_meetings(Warp& warp);
  void order_lanes(const Warp& warp, const Step& step, LaneMask lanes);
  LaneMask member_mask(const Warp& warp, const Step& step, unsigned lane) const;
  void perform(Warp& warp, const Step& step, LaneMask lanes);
  void shuffle(Warp& warp, const Step& step, LaneMask lanes);
  void vote(Warp& warp, const Step& step, LaneMask lanes);
  void match(Warp& warp, const Step& step, LaneMask lanes);
  void reduce(Warp& warp, const Step& step, LaneMask lanes);

  // memory_access.cc. False if the kernel cannot go on.
  const NamedPiece* shared_piece(std::uint64_t address) const;
  bool access(Warp& warp, const MemoryOperand& operand, const Access& access,
              LaneAddresses& pointers);
  bool access_fast(Warp& warp, const MemoryOperand& operand, const Access& access,
                   LaneAddresses& pointers, AddressSummary* summary);
  void compute_addresses(const Warp& warp, const MemoryOperand& operand, LaneMask lanes,
                         LaneAddresses& addresses) const;
  bool access_space(Warp& warp, MemorySpace space, const Access& access, LaneAddresses& pointers);
  bool access_global(Warp& warp, const Access& access, LaneAddresses& pointers);
  bool stays_in_pieces(const Warp& warp, const Access& access, const LaneAddresses& pointers);
  bool access_shared(Warp& warp, const Access& access, LaneAddresses& pointers);
  bool access_private(Warp& warp, MemorySpace space, const Access& access, LaneAddresses& pointers);
  void count_access(const Access& access, MemorySpace space, const LaneAddresses& addresses);
  bool load(Warp& warp, const Step& step, LaneMask lanes);
  bool store(Warp& warp, const Step& step, LaneMask lanes);
  void pass_ordering(const Warp& warp, const Detail& detail, LaneMask lanes);
  void check_lanes_agree(const Warp& warp, const Step& step, LaneMask lanes,
                         const LaneAddresses& pointers);

  // atomic_access.cc
  bool atomic(Warp& warp, const Step& step, LaneMask lanes);

  // async_copy.cc
  bool begin_copies(Warp& warp, const Step& step, LaneMask lanes);
  bool read_part(Warp& warp, const Step& step, LaneMask lane, std::uint32_t bytes);
  void finish_copies(Warp& warp, const Step& step, LaneMask lanes);

  // matrix_steps.cc
  bool load_matrix(Warp& warp, const Step& step, LaneMask lanes);
  bool store_matrix(Warp& warp, const Step& step, LaneMask lanes);
  void multiply(Warp& warp, const Step& step);

  // system_calls.cc
  bool print(Warp& warp, const Step& step, LaneMask lanes);
  void fail_assertion(Warp& warp, const Step& step, LaneMask lanes);
  std::string string_at(std::uint64_t address) const;

  // undefined.cc
  void pass_undefined(Warp& warp, const Step& step, LaneMask lanes);
  bool check_defined(Warp& warp, const Step& step, LaneMask lanes, LaneMask enabled);

  // Findings.
  void report(Check check, const Warp& warp, unsigned lane, const Step& step, std::string what);
  Finding finding(Check check, const Warp& warp, unsigned lane, const Step& step,
                  std::string what) const;
  ThreadPlace thread_place(const Warp& warp, unsigned lane) const;
  void report_conflict(const Warp& warp, unsigned lane, const Access& access,
                       const Conflict& conflict, const std::string& where);
  std::string shared_text(std::uint64_t address) const;
  void abandon() { is_abandoned_ = true; }

  template <typename T>
  T* row(const Warp& warp, ValuePlace place) const {
    return reinterpret_cast<T*>(warp.registers + place);
  }
  LaneMask& mask_at(const Warp& warp, ValuePlace place) const {
    return *reinterpret_cast<LaneMask*>(warp.registers + place);
  }

  LaunchRun& run_;
  const Program& program_;
  const LaneTables& tables_ = lane_tables();
  std::uint64_t index_ = 0;
  Dim3 block_index_;
  std::uint32_t threads_ = 0;
  std::vector<Warp> warps_;
  std::vector<std::byte> registers_;
  std::vector<std::byte> shared_;
  std::vector<std::byte> local_;
  std::vector<NamedPiece> shared_pieces_;
  std::uint32_t shared_end_ = 0;
  std::array<Barrier, kBarriers> barriers_;
  std::optional<BlockChecker> checker_;
  RandomStream random_;
  std::uint64_t steps_left_ = 0;   // of the turn
  std::uint64_t steps_taken_ = 0;  // of the thread block
  std::size_t last_warp_ = 0;
  bool is_abandoned_ = false;
  std::uint32_t exited_ = 0;
  const LaneForm* blends_[9] = {};
};

// Calls visit(lane) for each lane of the mask.
template <typename Visit>
void for_each_lane_of(LaneMask lanes, Visit visit) {
  for (; lanes != 0; lanes &= lanes - 1) visit(static_cast<unsigned>(__builtin_ctz(lanes)));
}

}  // namespace recto::ptx

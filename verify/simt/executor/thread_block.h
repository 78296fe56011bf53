#pragma once

// One thread block while it runs: its threads, each on a fiber, its warps, its barrier and its
// shared memory. All interaction between threads goes through here.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "verify/simt/executor/device_api.h"
#include "verify/simt/executor/finding.h"
#include "verify/simt/executor/kernel_thread.h"
#include "verify/simt/executor/mbarriers.h"
#include "verify/simt/executor/ready_set.h"
#include "verify/simt/executor/shared_memory.h"
#include "verify/simt/fibers/fiber.h"

namespace recto::simt {

class Scheduler;
class ThreadBlock;
struct Launch;

enum class Standing : std::uint8_t {
  kCanRun,
  kAtBlockBarrier,
  kAtCollective,
  kAtGridBarrier,
  kAtMbarrier,
  kExited
};

// One warp of a thread block.
struct WarpState {
  // Lanes of one mask, at the same operation.
  struct Meeting {
    std::uint32_t mask = 0;
    std::uint32_t arrived = 0;
    const Collective* what = nullptr;
  };

  unsigned number = 0;
  std::uint32_t exited = 0;   // lanes that have exited or never existed
  std::uint32_t waiting = 0;  // meetings at which some lanes have arrived and others have not
  std::array<void*, kWarpSize> payloads = {};
  std::array<Meeting, kWarpSize> meetings = {};  // at the mask's lowest lane, if it is free
};

// The members that every switch touches come first, so that they are adjacent.
struct ThreadState : KernelThread {
  // The thread's place, and what it waits at, if it waits.
  const char* operation = "";
  ThreadBlock* block = nullptr;
  WarpState* warp = nullptr;
  Site site = {};
  std::uint32_t mask = 0;
  Standing standing = Standing::kCanRun;
  // The executor is touching memory for this thread: a fault belongs to the call at `site`.
  bool is_in_call = false;
  Fiber fiber;
  // Asynchronous copies (cp.async) under way, the oldest first. Their bytes arrive as late as
  // allowed: at the wait that covers their group.
  struct UnderWay {
    AsyncCopy copy = {};
    unsigned group = 0;
  };
  std::vector<UnderWay> copies = {};
  unsigned copy_group = 0;  // of the next copy

  unsigned lane() const { return linear % kWarpSize; }
  ThreadPlace place() const { return {block_index, thread_index, linear}; }
  Finding finding(Check check, std::string what) const;
  // Ends the launch with that finding. Frames of the running thread are abandoned, so nothing in
  // them may own memory.
  [[noreturn]] void refuse(Check check, std::string what) const;
  // The bytes of the copy arrive.
  void deliver(const AsyncCopy& copy);
};

class ThreadBlock {
 public:
  // Prepares to run block `index` of the launch. The caller provides the stacks, one per thread.
  void begin(Launch& launch, Scheduler& scheduler, std::uint64_t index);

  // These are called by the running thread, `thread`, and return when it may continue.
  int wait_at_barrier(ThreadState& thread, BarrierReduction reduction, int predicate,
                      const char* name);
  void exit_thread(ThreadState& thread);

  // Describes why this block is not done after all threads of all blocks have run as far as they
  // can.
  bool is_done() const { return exited_ == threads_.size(); }
  Finding stuck() const;
  std::string standings() const;

  ReadySet& ready() { return ready_; }
  std::span<ThreadState> threads() { return threads_; }
  const SharedMemory& shared() const { return shared_; }
  SharedMemory& shared() { return shared_; }
  Mbarriers& mbarriers() { return mbarriers_; }
  std::uint64_t linear_index() const { return linear_index_; }
  Launch& launch() { return *launch_; }
  Scheduler& scheduler() { return *scheduler_; }

  // Reports two lanes that take part in one warp-wide operation from different places in the code.
  [[noreturn]] void refuse_branches(const ThreadState& lane, const ThreadState& other);

 private:
  friend void device::collective(std::uint32_t mask, void* payload, const Collective& what,
                                 Site site);

  struct Barrier {
    unsigned arrived = 0;
    const ThreadState* first = nullptr;  // the thread that arrived first
    int sum = 0;                         // of predicates that hold
    int result = 0;                      // from the last time all had arrived
    BarrierReduction reduction = BarrierReduction::kNone;
  };

  void begin_warps();
  void check_copies(const ThreadState& thread) const;
  void check_same_barrier(const ThreadState& thread);
  void open_barrier();
  unsigned find_meeting(const ThreadState& thread, const Collective& collective);
  [[noreturn]] void refuse_meeting(const ThreadState& thread, const Collective& collective,
                                   const WarpState::Meeting& meeting);
  void report_exited(const WarpState& warp, const WarpState::Meeting& meeting) const;
  void complete(WarpState& warp, unsigned meeting, std::uint32_t others);
  void release_meetings_without(const ThreadState& thread);

  Launch* launch_ = nullptr;
  Scheduler* scheduler_ = nullptr;
  std::uint64_t linear_index_ = 0;
  unsigned exited_ = 0;
  Barrier barrier_;
  ReadySet ready_;
  std::vector<ThreadState> threads_;
  std::vector<WarpState> warps_;
  SharedMemory shared_;
  Mbarriers mbarriers_;
};

// The running thread's state.
inline ThreadState& running_thread() { return static_cast<ThreadState&>(*current_thread); }
// The same, for a thread that calls an operation at `site`.
inline ThreadState& running_thread_at(Site site) {
  running_thread().site = site;
  return running_thread();
}

}  // namespace recto::simt

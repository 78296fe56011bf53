#pragma once

// Runs the threads of the thread blocks that one OS thread handles at a time: one block in most
// launches, the whole grid in a cooperative one.

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/random_stream.h"
#include "verify/simt/executor/finding.h"
#include "verify/simt/executor/ready_set.h"
#include "verify/simt/executor/schedule.h"
#include "verify/simt/executor/thread_block.h"
#include "verify/simt/fibers/stack_pool.h"

namespace recto::simt {

class Scheduler {
 public:
  explicit Scheduler(std::size_t stack_bytes) : stacks_(stack_bytes) {}
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  // Runs blocks [first, first + count) of the launch concurrently, until all of their threads have
  // exited or one was abandoned. Reports findings to the launch.
  void run(Launch& launch, std::uint64_t first, std::uint64_t count);

  // The running thread, `thread`, calls these.
  void wait(ThreadState& thread);   // it cannot continue; returns when it can
  void yield(ThreadState& thread);  // it can continue, but others may run first
  void wait_at_grid_barrier(ThreadState& thread);
  void report(Finding finding);                  // the thread continues
  [[noreturn]] void leave(ThreadState& thread);  // it has exited
  [[noreturn]] void abandon(Finding finding);    // the launch is over

  enum class FaultKind : std::uint8_t { kMemory, kArithmetic, kStall };
  struct Fault {
    FaultKind kind = FaultKind::kMemory;
    std::uintptr_t instruction = 0;
    std::uintptr_t address = 0;  // in memory
    const ThreadState* thread = nullptr;
    std::uintptr_t last_access = 0;  // for a kernel that spins: the last access to memory, if known
  };
  // Called from a signal handler, on the running thread's fiber.
  [[noreturn]] void abandon_at(const Fault& fault);

  // The running thread has done something that others can see, without a switch.
  void count_step(const ThreadState& thread) {
    steps_.store(steps_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    if (steps_.load(std::memory_order_relaxed) > steps_max_) [[unlikely]]
      give_up(thread);
  }

  // Counts everything that kernels do except computing. Any OS thread may call this.
  std::uint64_t steps() const { return steps_.load(std::memory_order_relaxed); }
  RandomStream& random() { return random_; }

 private:
  bool begin(Launch& launch, std::uint64_t first, std::uint64_t count);
  static void run_thread(void* thread);
  void wait_for_any(ThreadState& thread);
  ThreadState* next();
  unsigned any_of(const ReadySet& ready);
  unsigned next_lane_of(const ReadySet& ready, unsigned warp);
  ThreadBlock* next_block();
  [[noreturn]] void switch_to_scheduler(Fiber& running);
  Finding stuck() const;
  std::string fault_text() const;
  void report_fault();
  std::string never_ends(const ThreadState& thread) const;
  [[noreturn]] void give_up(const ThreadState& thread);

  StackPool stacks_;
  Launch* launch_ = nullptr;
  std::uint64_t order_ = 0;  // of the first block, for reports
  // As many as have ever run concurrently; the first block_count_ of them do now.
  std::vector<std::unique_ptr<ThreadBlock>> blocks_;
  std::size_t block_count_ = 0;
  std::size_t block_at_ = 0;  // whose threads run now
  unsigned thread_at_ = 0;    // within it
  // For each warp, where the search for its next lane begins, so that a polling lane does not
  // starve others.
  std::array<unsigned, ReadySet::kThreadsMax / kWarpSize> lane_at_ = {};
  std::uint64_t at_grid_barrier_ = 0;
  std::uint64_t exited_blocks_ = 0;
  // Written by one OS thread only, so no atomic read-modify-write is needed.
  std::atomic<std::uint64_t> steps_ = 0;
  std::uint64_t steps_before_ = 0;  // those of earlier thread blocks
  std::uint64_t steps_max_ = 0;
  SchedulePolicy policy_ = SchedulePolicy::kInOrder;
  bool neighbour_is_next_ = false;  // in-order schedule and a single block
  bool is_abandoned_ = false;
  std::optional<Fault> fault_;
  RandomStream random_{0};
  Fiber home_;
};

// Most often the next thread in order is ready: then it is found without a search.
inline void Scheduler::wait(ThreadState& thread) {
  count_step(thread);
  ReadySet& ready = thread.block->ready();
  const unsigned neighbour = thread.linear + 1;
  if (!neighbour_is_next_ || neighbour % kWarpSize == 0 || !ready.contains(neighbour)) {
    wait_for_any(thread);
    return;
  }
  ready.erase(neighbour);
  ThreadState& other = *(&thread + 1);
  thread_at_ = neighbour;
  current_thread = &other;
  Fiber::switch_between(thread.fiber, other.fiber);
}

}  // namespace recto::simt

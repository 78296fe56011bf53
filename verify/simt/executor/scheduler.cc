#include "verify/simt/executor/scheduler.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "core/contract.h"
#include "verify/simt/executor/launch.h"
#include "verify/simt/executor/observer.h"

namespace recto::simt {

constinit thread_local KernelThread* current_thread = nullptr;
constinit thread_local Observer* kernel_observer = nullptr;

// MemorySanitizer defines it in programs that have it: it clears the shadow of arguments.
extern "C" __attribute__((weak)) void __msan_unpoison_param(std::size_t count);

namespace {

// Stacks are offset by a few cache lines, so that their tops do not all fall into the same cache
// sets.
constexpr std::size_t kTopOffset = 192;
constexpr std::size_t kTopOffsets = 16;

// As many words as MemorySanitizer keeps about arguments.
constexpr std::size_t kTaintedWords = 100;

}  // namespace

void Scheduler::run(Launch& launch, std::uint64_t first, std::uint64_t count) {
  if (!begin(launch, first, count)) return;
  current_thread = next();
  Fiber::switch_between(home_, running_thread().fiber);
  // The shadow that calls in the launch left there does not belong to the host's next call.
  if (__msan_unpoison_param != nullptr) __msan_unpoison_param(kTaintedWords);
  current_thread = nullptr;
  kernel_observer = nullptr;
  launch.switches += steps() - steps_before_;
  if (launch.observer != nullptr) {
    for (std::uint64_t i = 0; i < count; ++i) launch.observer->end_block(*blocks_[i]);
  }
  if (fault_) report_fault();
  if (is_abandoned_ || fault_) launch.stop_after(first);
}

bool Scheduler::begin(Launch& launch, std::uint64_t first, std::uint64_t count) {
  launch_ = &launch;
  order_ = first;
  block_count_ = count;
  block_at_ = 0;
  // Then the first thread in order is thread 0, and in reverse order the last one.
  thread_at_ =
      launch.options.schedule.policy == SchedulePolicy::kReverse ? 0 : ReadySet::kThreadsMax - 1;
  lane_at_ = {};
  at_grid_barrier_ = 0;
  exited_blocks_ = 0;
  // The count never decreases, and each thread block counts as a step. Otherwise many thread blocks
  // without steps would look like one that never ends.
  steps_before_ = steps() + 1;
  steps_ = steps_before_;
  steps_max_ = steps_before_ + std::min(launch.options.switches_max, UINT64_MAX - steps_before_);
  policy_ = launch.options.schedule.policy;
  neighbour_is_next_ = policy_ == SchedulePolicy::kInOrder && count == 1;
  is_abandoned_ = false;
  fault_.reset();
  random_ = RandomStream(launch.options.schedule.seed).split(launch.block_at(first));
  while (blocks_.size() < count) blocks_.push_back(std::make_unique<ThreadBlock>());
  const std::uint64_t threads = launch.config.block.count();
  if (!stacks_.reserve(threads * count)) {
    launch.report(first, {.check = Check::kInvalidLaunch,
                          .what = fmt::format("no memory for {} stacks, or too few mappings "
                                              "(vm.max_map_count), which take two each",
                                              threads * count)});
    launch.stop_after(first);
    return false;
  }
  std::size_t stack = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    ThreadBlock& block = *blocks_[i];
    block.begin(launch, *this, launch.block_at(first + i));
    if (launch.observer != nullptr) launch.observer->begin_block(block);
    for (ThreadState& thread : block.threads()) {
      StackMemory memory = stacks_.stack(stack);
      memory.bytes -= stack++ % kTopOffsets * kTopOffset;
      thread.fiber.prepare(memory, &Scheduler::run_thread, &thread);
    }
  }
  return true;
}

void Scheduler::run_thread(void* argument) {
  auto& thread = *static_cast<ThreadState*>(argument);
  const Launch& launch = thread.block->launch();
  // The shadow that another fiber's last call left there does not belong to this call.
  if (__msan_unpoison_param != nullptr) __msan_unpoison_param(1);
  kernel_observer = launch.observer;
  launch.call.call(launch.call.arguments);
  kernel_observer = nullptr;
  thread.block->exit_thread(thread);
}

// Removes the thread to run now from its block's ready set; null if none can run.
inline ThreadState* Scheduler::next() {
  ThreadBlock* block = block_count_ == 1 ? blocks_[0].get() : next_block();
  if (block == nullptr || block->ready().empty()) return nullptr;
  ReadySet& ready = block->ready();
  thread_at_ = policy_ == SchedulePolicy::kInOrder
                   ? ready.next_from((thread_at_ + 1) % ReadySet::kThreadsMax)
                   : any_of(ready);
  ready.erase(thread_at_);
  return &block->threads()[thread_at_];
}

unsigned Scheduler::any_of(const ReadySet& ready) {
  if (policy_ == SchedulePolicy::kReverse) {
    return ready.previous_from((thread_at_ - 1) % ReadySet::kThreadsMax);
  }
  const unsigned any = ready.nth(static_cast<unsigned>(random_.next_below(ready.size())));
  return policy_ == SchedulePolicy::kRandomThread ? any : next_lane_of(ready, any / kWarpSize);
}

// The next lane, wrapping around, of a warp in which some lanes can run.
unsigned Scheduler::next_lane_of(const ReadySet& ready, unsigned warp) {
  unsigned thread = ready.next_from(warp * kWarpSize + lane_at_[warp]);
  if (thread / kWarpSize != warp) thread = ready.next_from(warp * kWarpSize);
  lane_at_[warp] = (thread + 1) % kWarpSize;
  return thread;
}

// The running block continues while it can; with random schedules any block may be next.
ThreadBlock* Scheduler::next_block() {
  if (policy_ == SchedulePolicy::kRandomWarp || policy_ == SchedulePolicy::kRandomThread) {
    block_at_ = random_.next_below(block_count_);
  }
  for (std::size_t tried = 0; tried < block_count_; ++tried) {
    ThreadBlock* block = blocks_[block_at_].get();
    if (!block->ready().empty()) return block;
    block_at_ = (block_at_ + 1) % block_count_;
  }
  return nullptr;
}

void Scheduler::switch_to_scheduler(Fiber& running) {
  Fiber::switch_between(running, home_);
  RECTO_UNREACHABLE("a thread that is done runs again");
}

void Scheduler::wait_for_any(ThreadState& thread) {
  ThreadState* other = next();
  if (other == &thread) return;
  if (other == nullptr) [[unlikely]]
    abandon(stuck());
  current_thread = other;
  Fiber::switch_between(thread.fiber, other->fiber);
}

void Scheduler::yield(ThreadState& thread) {
  thread.block->ready().insert(thread.linear);
  wait(thread);
}

void Scheduler::wait_at_grid_barrier(ThreadState& thread) {
  thread.operation = "grid barrier";
  if (!launch_->config.is_cooperative) {
    thread.refuse(Check::kInvalidLaunch,
                  "waits for the whole grid, but the launch is not a cooperative one");
  }
  thread.standing = Standing::kAtGridBarrier;
  if (++at_grid_barrier_ == launch_->config.block.count() * block_count_) {
    at_grid_barrier_ = 0;
    for (std::size_t i = 0; i < block_count_; ++i) {
      for (ThreadState& waiting : blocks_[i]->threads()) {
        waiting.standing = Standing::kCanRun;
        blocks_[i]->ready().insert(waiting.linear);
      }
    }
    if (launch_->observer != nullptr) launch_->observer->pass_grid_barrier();
  }
  wait(thread);
}

void Scheduler::leave(ThreadState& thread) {
  if (thread.block->is_done() && ++exited_blocks_ == block_count_)
    switch_to_scheduler(thread.fiber);
  count_step(thread);
  ThreadState* other = next();
  if (other == nullptr) abandon(stuck());
  current_thread = other;
  Fiber::switch_between(thread.fiber, other->fiber);
  RECTO_UNREACHABLE("a thread that has exited runs again");
}

void Scheduler::report(Finding finding) { launch_->report(order_, std::move(finding)); }

void Scheduler::abandon(Finding finding) {
  report(std::move(finding));
  is_abandoned_ = true;
  switch_to_scheduler(running_thread().fiber);
}

void Scheduler::abandon_at(const Fault& fault) {
  fault_ = fault;
  fault_->thread = &running_thread();
  // The place of the interruption may be within the observer, and differs from run to run.
  if (fault.kind == FaultKind::kStall && launch_->observer != nullptr) {
    fault_->last_access = launch_->observer->last_access(running_thread());
  }
  switch_to_scheduler(running_thread().fiber);
}

std::string Scheduler::fault_text() const {
  const ThreadState& thread = *fault_->thread;
  const auto stack = reinterpret_cast<std::uintptr_t>(thread.fiber.stack().bottom);
  if (fault_->kind == FaultKind::kArithmetic) {
    return "divides an integer by zero, or the quotient overflows";
  }
  if (fault_->kind == FaultKind::kStall) {
    // Other threads' plain or volatile writes would reach it only if those threads ran.
    return fmt::format(
        "{}has run for {} seconds without a barrier, a warp-wide or an atomic "
        "operation, the only places where threads take turns; {}",
        fault_->last_access == 0 ? "" : "last touched memory here, and ",
        launch_->options.stall_seconds, thread.block->standings());
  }
  if (fault_->address < stack && stack - fault_->address <= kStackGuardBytes) {
    return fmt::format("needs more local memory and calls than its stack of {} bytes holds",
                       thread.fiber.stack().bytes);
  }
  return fmt::format("touches {:#x}, which is not accessible memory", fault_->address);
}

void Scheduler::report_fault() {
  const ThreadState& thread = *fault_->thread;
  Finding finding = thread.finding(
      fault_->kind == FaultKind::kStall ? Check::kNeverEnds : Check::kFault, fault_text());
  // Places are return addresses, which lie after their instruction.
  if (fault_->last_access != 0) {
    finding.place = {.instruction = fault_->last_access};
  } else if (!thread.is_in_call) {
    finding.place = {.instruction = fault_->instruction + 1};
  }
  launch_->report(order_, std::move(finding));
}

Finding Scheduler::stuck() const {
  for (std::size_t i = 0; i < block_count_; ++i) {
    if (!blocks_[i]->is_done()) return blocks_[i]->stuck();
  }
  RECTO_UNREACHABLE("all threads have exited");
}

// Separate functions, because objects in a call that never returns are never freed.
std::string Scheduler::never_ends(const ThreadState& thread) const {
  return fmt::format("still runs after {} switches; {}", steps() - steps_before_,
                     thread.block->standings());
}

void Scheduler::give_up(const ThreadState& thread) {
  thread.refuse(Check::kNeverEnds, never_ends(thread));
}

}  // namespace recto::simt

#include "verify/simt/executor/mbarriers.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "verify/simt/executor/device_copies.h"
#include "verify/simt/executor/launch.h"
#include "verify/simt/executor/scheduler.h"

namespace recto::simt {
namespace {

// The value stored in the object. If it changes, a store overwrote the mbarrier.
std::uint64_t mark_of(std::uint64_t phase) { return 0x6d62617272696572 + phase; }

[[noreturn]] void refuse(const ThreadState& thread, std::string what) {
  thread.refuse(Check::kMbarrier, std::move(what));
}

// The running thread, which calls something on an object in shared memory.
ThreadState& caller_of(const device::Call& call, const std::uint64_t* object) {
  device::require_shared(object, sizeof *object, sizeof *object, call);
  return running_thread();
}

Mbarrier* find(const ThreadState& thread, const std::uint64_t* object) {
  std::vector<Mbarrier>& barriers = thread.block->mbarriers().barriers;
  const auto found = std::ranges::find(barriers, object, &Mbarrier::object);
  return found == barriers.end() ? nullptr : &*found;
}

Mbarrier& valid(const ThreadState& thread, const std::uint64_t* object) {
  Mbarrier* barrier = find(thread, object);
  if (barrier == nullptr) {
    refuse(thread,
           fmt::format("calls {} on an mbarrier that no thread has initialised", thread.operation));
  }
  if (*object != mark_of(barrier->phase)) {
    refuse(thread, fmt::format("calls {} on an mbarrier that was overwritten", thread.operation));
  }
  return *barrier;
}

void end_phase_if_due(ThreadBlock& block, Mbarrier& barrier) {
  if (barrier.pending > 0 || barrier.bytes != 0) return;
  ++barrier.phase;
  barrier.pending = barrier.arrivals;
  *barrier.object = mark_of(barrier.phase);
  Observer* observer = block.launch().observer;
  if (observer != nullptr) observer->end_phase(block, barrier.object);
  for (ThreadState* waiting : barrier.waiting) {
    waiting->standing = Standing::kCanRun;
    block.ready().insert(waiting->linear);
    // Acquires here and not when the thread runs, because further phases may have ended by then.
    if (observer != nullptr) observer->acquire(*waiting, barrier.object);
  }
  barrier.waiting.clear();
}

// Delivers the copies that complete on the mbarrier, until its phase ends.
void deliver(ThreadState& thread, Mbarrier& barrier) {
  std::vector<AsyncCopy>& copies = thread.block->mbarriers().copies;
  const std::uint64_t phase = barrier.phase;
  for (auto copy = copies.begin(); copy != copies.end() && barrier.phase == phase;) {
    if (copy->mbarrier != barrier.object) {
      ++copy;
      continue;
    }
    thread.deliver(*copy);
    barrier.bytes -= static_cast<std::int64_t>(copy->bytes);
    copy = copies.erase(copy);
    end_phase_if_due(*thread.block, barrier);
  }
}

// Whether the phase of that parity has ended.
bool has_ended(ThreadState& thread, std::uint64_t* object, unsigned parity) {
  Mbarrier& barrier = valid(thread, object);
  const auto has_ended = [&] { return (barrier.phase & 1) != (parity & 1); };
  if (!has_ended()) deliver(thread, barrier);
  if (!has_ended()) return false;
  Observer* observer = thread.block->launch().observer;
  if (observer != nullptr) observer->acquire(thread, object);
  return true;
}

}  // namespace

void Mbarriers::begin_copy(ThreadState& thread, std::uint64_t* object, AsyncCopy copy) {
  Mbarrier& barrier = valid(thread, object);
  copy.mbarrier = object;
  copies.push_back(copy);
  Observer* observer = thread.block->launch().observer;
  if (observer != nullptr) observer->begin_copy(thread, copy);
  // Threads that already wait do not ask again.
  if (!barrier.waiting.empty()) deliver(*barrier.waiting.front(), barrier);
}

void device::init_mbarrier(std::uint64_t* object, unsigned arrivals, const Call& call) {
  const OutsideKernel outside;
  const ThreadState& thread = caller_of(call, object);
  if (find(thread, object) != nullptr) {
    refuse(thread, "initialises an mbarrier that is already initialised and was not invalidated");
  }
  if (arrivals == 0 || arrivals > Mbarriers::kArrivalsMax) {
    refuse(thread, fmt::format("initialises an mbarrier for {} arrivals: expected 1 to {}",
                               arrivals, Mbarriers::kArrivalsMax));
  }
  thread.block->mbarriers().barriers.push_back(
      {.object = object, .arrivals = arrivals, .pending = arrivals});
  *object = mark_of(0);
}

void device::invalidate_mbarrier(std::uint64_t* object, const Call& call) {
  const OutsideKernel outside;
  const ThreadState& thread = caller_of(call, object);
  const Mbarrier& barrier = valid(thread, object);
  if (!barrier.waiting.empty()) refuse(thread, "invalidates an mbarrier that threads wait at");
  std::erase_if(thread.block->mbarriers().barriers,
                [object](const Mbarrier& one) { return one.object == object; });
  *object = UINT64_MAX;
}

void device::arrive_at_mbarrier(std::uint64_t* object, unsigned bytes, const Call& call) {
  const OutsideKernel outside;
  ThreadState& thread = caller_of(call, object);
  Mbarrier& barrier = valid(thread, object);
  if (barrier.pending == 0) {
    refuse(thread,
           fmt::format("arrives at an mbarrier whose phase already has all of its {} arrivals",
                       barrier.arrivals));
  }
  Observer* observer = thread.block->launch().observer;
  if (observer != nullptr) observer->release(thread, object);
  barrier.bytes += bytes;
  --barrier.pending;
  end_phase_if_due(*thread.block, barrier);
}

bool device::test_mbarrier(std::uint64_t* object, unsigned parity, const Call& call) {
  const OutsideKernel outside;
  ThreadState& thread = caller_of(call, object);
  if (has_ended(thread, object, parity)) return true;
  thread.block->scheduler().yield(thread);
  return has_ended(thread, object, parity);
}

void device::wait_at_mbarrier(std::uint64_t* object, unsigned parity, const Call& call) {
  const OutsideKernel outside;
  ThreadState& thread = caller_of(call, object);
  if (has_ended(thread, object, parity)) return;
  find(thread, object)->waiting.push_back(&thread);
  thread.standing = Standing::kAtMbarrier;
  thread.block->scheduler().wait(thread);
}

}  // namespace recto::simt

#include "verify/simt/executor/mbarriers.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "verify/simt/executor/async_copies.h"
#include "verify/simt/executor/launch.h"
#include "verify/simt/executor/scheduler.h"

namespace recto::simt {
namespace {

// The value of an object, by which overwriting it is detected.
std::uint64_t mark_of(std::uint64_t phase) { return 0x6d62617272696572 + phase; }

[[noreturn]] void refuse(const ThreadState& thread, std::string what) {
  thread.refuse(Check::kMbarrier, std::move(what));
}

}  // namespace

void Mbarriers::clear() {
  barriers_.clear();
  copies_.clear();
}

Mbarriers::Mbarrier* Mbarriers::find(const std::uint64_t* object) {
  const auto found = std::ranges::find(barriers_, object, &Mbarrier::object);
  return found == barriers_.end() ? nullptr : &*found;
}

Mbarriers::Mbarrier& Mbarriers::valid(ThreadState& thread, std::uint64_t* object) {
  Mbarrier* barrier = find(object);
  if (barrier == nullptr) {
    refuse(thread,
           fmt::format("calls {} on an mbarrier that no thread has initialised", thread.operation));
  }
  if (*object != mark_of(barrier->phase)) {
    refuse(thread, fmt::format("calls {} on an mbarrier that was overwritten", thread.operation));
  }
  return *barrier;
}

void Mbarriers::mark(const Mbarrier& barrier) { *barrier.object = mark_of(barrier.phase); }

void Mbarriers::init(ThreadState& thread, std::uint64_t* object, unsigned arrivals) {
  if (find(object) != nullptr) {
    refuse(thread, "initialises an mbarrier that is one already, and was not invalidated");
  }
  if (arrivals == 0 || arrivals > kArrivalsMax) {
    refuse(thread, fmt::format("initialises an mbarrier for {} arrivals: expected 1 to {}",
                               arrivals, kArrivalsMax));
  }
  barriers_.push_back({.object = object, .arrivals = arrivals, .pending = arrivals});
  mark(barriers_.back());
}

void Mbarriers::invalidate(ThreadState& thread, std::uint64_t* object) {
  const Mbarrier& barrier = valid(thread, object);
  if (!barrier.waiting.empty()) refuse(thread, "invalidates an mbarrier that threads wait at");
  std::erase_if(barriers_, [object](const Mbarrier& one) { return one.object == object; });
  *object = UINT64_MAX;
}

void Mbarriers::arrive(ThreadState& thread, std::uint64_t* object, unsigned bytes) {
  Mbarrier& barrier = valid(thread, object);
  if (barrier.pending == 0) {
    refuse(thread, fmt::format("arrives at an mbarrier whose phase has had all of its {} arrivals",
                               barrier.arrivals));
  }
  Observer* observer = thread.block->launch().observer;
  if (observer != nullptr) observer->release(thread, object);
  barrier.bytes += bytes;
  --barrier.pending;
  end_phase_if_due(*thread.block, barrier);
}

void Mbarriers::end_phase_if_due(ThreadBlock& block, Mbarrier& barrier) {
  if (barrier.pending > 0 || barrier.bytes != 0) return;
  ++barrier.phase;
  barrier.pending = barrier.arrivals;
  mark(barrier);
  Observer* observer = block.launch().observer;
  if (observer != nullptr) observer->end_phase(block, barrier.object);
  for (ThreadState* waiting : barrier.waiting) {
    waiting->standing = Standing::kCanRun;
    block.ready().insert(waiting->linear);
    // Not when it runs: further phases may have ended by then.
    if (observer != nullptr) observer->acquire(*waiting, barrier.object);
  }
  barrier.waiting.clear();
}

void Mbarriers::begin_copy(ThreadState& thread, std::uint64_t* object, AsyncCopy copy) {
  Mbarrier& barrier = valid(thread, object);
  copy.mbarrier = object;
  copies_.push_back(copy);
  Observer* observer = thread.block->launch().observer;
  if (observer != nullptr) observer->begin_copy(thread, copy);
  // Threads that already wait will not ask again.
  if (!barrier.waiting.empty()) deliver(*barrier.waiting.front(), barrier);
}

void Mbarriers::deliver(ThreadState& thread, Mbarrier& barrier) {
  const std::uint64_t phase = barrier.phase;
  for (auto copy = copies_.begin(); copy != copies_.end() && barrier.phase == phase;) {
    if (copy->mbarrier != barrier.object) {
      ++copy;
      continue;
    }
    finish(thread, *copy);
    barrier.bytes -= static_cast<std::int64_t>(copy->bytes);
    copy = copies_.erase(copy);
    end_phase_if_due(*thread.block, barrier);
  }
}

bool Mbarriers::test(ThreadState& thread, std::uint64_t* object, unsigned parity) {
  Mbarrier& barrier = valid(thread, object);
  const auto has_ended = [&] { return (barrier.phase & 1) != (parity & 1); };
  if (!has_ended()) deliver(thread, barrier);
  if (!has_ended()) return false;
  Observer* observer = thread.block->launch().observer;
  if (observer != nullptr) observer->acquire(thread, object);
  return true;
}

void Mbarriers::wait(ThreadState& thread, std::uint64_t* object, unsigned parity) {
  if (test(thread, object, parity)) return;
  find(object)->waiting.push_back(&thread);
  thread.standing = Standing::kAtMbarrier;
  thread.block->scheduler().wait(thread);
}

}  // namespace recto::simt

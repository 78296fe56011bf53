#pragma once

// Random accesses and barriers of some threads. Full vector clocks determine which accesses race.

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "bazel/testing/property.h"
#include "verify/simt/checks/access_order.h"
#include "verify/simt/executor/observer.h"

namespace recto::simt {

inline constexpr unsigned kBlocks = 3;
inline constexpr unsigned kThreads = 64;
inline constexpr std::size_t kBytes = 4;
// Few threads, so that they meet often, both within a warp and across two warps.
inline constexpr std::array<unsigned, 6> kActors = {0, 1, 17, 31, 32, 63};

enum class Step : std::uint8_t {
  kAccess,
  kWarpBarrier,
  kBlockBarrier,
  kGridBarrier,
  kRelease,
  kEndPhase,
  kAcquire,
  kFence,
};

struct Event {
  Step step = Step::kAccess;
  unsigned block = 0;
  unsigned thread = 0;
  AccessKind kind = AccessKind::kRead;
  std::size_t offset = 0;
  std::size_t bytes = 1;
  std::uint32_t lanes = 0;  // of the thread's warp
};

// The kind of memory, and how the thread blocks run.
struct Setting {
  Scope scope = Scope::kBlock;
  bool is_cooperative = false;
  bool has_atomics = false;
  bool has_messages = false;
  bool has_fences = false;  // atomic operations then order threads
};

inline Event draw_event(Draw& draw, const Setting& setting, unsigned block) {
  Event event;
  event.block = block;
  event.thread = kActors[draw.growing<std::size_t>(0, kActors.size() - 1)];
  const int step = draw.growing<int>(0, 19);
  if (step == 0 && setting.is_cooperative) {
    event.step = Step::kGridBarrier;
  } else if (step == 1) {
    event.step = Step::kBlockBarrier;
  } else if (step <= 6 && setting.has_messages) {
    constexpr std::array<Step, 3> kSteps = {Step::kRelease, Step::kEndPhase, Step::kAcquire};
    event.step = kSteps[draw.growing<std::size_t>(0, 2)];
  } else if (step <= 6 && setting.has_fences) {
    event.step = Step::kFence;
  } else if (step <= 6 || (step <= 10 && (setting.has_messages || setting.has_fences))) {
    event.step = Step::kWarpBarrier;
    event.lanes = 1U << event.thread % kWarpSize;
    for (const unsigned actor : kActors) {
      if (actor / kWarpSize == event.thread / kWarpSize && draw.growing(0, 2) > 0) {
        event.lanes |= 1U << actor % kWarpSize;
      }
    }
  }
  event.bytes = std::size_t{1} << draw.growing(0, 2);
  event.offset = draw.growing<std::size_t>(0, 3) / event.bytes * event.bytes;
  // Twice as many reads as writes.
  event.kind = draw.growing(0, 2) > 0 ? AccessKind::kRead : AccessKind::kWrite;
  if (setting.has_atomics && draw.growing(0, 1) > 0) {
    event.kind = draw.growing(0, 2) > 0 ? AccessKind::kAtomic : AccessKind::kAtomicRead;
  }
  return event;
}

inline bool is_write(AccessKind kind) {
  return kind == AccessKind::kWrite || kind == AccessKind::kAtomic;
}
inline bool is_atomic(AccessKind kind) {
  return kind == AccessKind::kAtomic || kind == AccessKind::kAtomicRead;
}

// Vector clocks: for each thread, its knowledge of every other thread's progress.
class Clocks {
 public:
  explicit Clocks(Scope scope) : scope_(scope) {}

  // Takes the event. Returns whether it is an access that races with an earlier one.
  bool take(const Event& event) {
    switch (event.step) {
      case Step::kWarpBarrier:
        join([&event](unsigned block, unsigned thread) {
          return block == event.block && thread / kWarpSize == event.thread / kWarpSize &&
                 (event.lanes >> thread % kWarpSize & 1) != 0;
        });
        return false;
      case Step::kBlockBarrier:
        join([&event](unsigned block, unsigned) { return block == event.block; });
        return false;
      case Step::kGridBarrier:
        join([](unsigned, unsigned) { return true; });
        return false;
      case Step::kRelease:
        tell(known_[id_of(event.block, event.thread)], released_[event.block]);
        return false;
      case Step::kEndPhase:
        ended_[event.block] = released_[event.block];
        return false;
      case Step::kAcquire:
        tell(ended_[event.block], known_[id_of(event.block, event.thread)]);
        return false;
      case Step::kFence:
        pass_fence(id_of(event.block, event.thread));
        return false;
      case Step::kAccess:
        break;
    }
    const std::size_t id = id_of(event.block, event.thread);
    if (is_atomic(event.kind)) pass_atomic(id, event);
    const bool races = std::ranges::any_of(past_, [&](const Past& past) {
      return conflict(past.event, event) && known_[id][past.id] < past.clock;
    });
    past_.push_back({event, id, ++known_[id][id]});
    return races;
  }

 private:
  static constexpr std::size_t kIds = kBlocks * kActors.size();
  using Known = std::array<unsigned, kIds>;
  struct Past {
    Event event;
    std::size_t id = 0;
    unsigned clock = 0;
  };

  // A fence makes observed clocks known, and known clocks are handed over from then on.
  void pass_fence(std::size_t id) {
    tell(observed_[id], known_[id]);
    tell(known_[id], fenced_[id]);
  }
  void pass_atomic(std::size_t id, const Event& event) {
    Known& handed_over = handed_over_[event.offset];
    tell(handed_over, observed_[id]);
    if (is_write(event.kind)) tell(fenced_[id], handed_over);
  }

  static std::size_t id_of(unsigned block, unsigned thread) {
    const auto actor = std::ranges::find(kActors, thread) - kActors.begin();
    return block * kActors.size() + static_cast<std::size_t>(actor);
  }

  bool conflict(const Event& a, const Event& b) const {
    if (scope_ == Scope::kBlock && a.block != b.block) return false;
    const bool overlap = a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
    return overlap && (is_write(a.kind) || is_write(b.kind)) &&
           !(is_atomic(a.kind) && is_atomic(b.kind));
  }

  static void tell(const Known& what, Known& whom) {
    for (std::size_t i = 0; i < kIds; ++i) whom[i] = std::max(whom[i], what[i]);
  }

  template <typename IsIn>
  void join(IsIn is_in) {
    for (auto* all : {&known_, &fenced_, &observed_}) join(*all, is_in);
  }
  template <typename IsIn>
  static void join(std::array<Known, kIds>& all, IsIn is_in) {
    Known joined = {};
    const auto for_each = [&](auto visit) {
      for (unsigned block = 0; block < kBlocks; ++block) {
        for (const unsigned thread : kActors) {
          if (is_in(block, thread)) visit(all[id_of(block, thread)]);
        }
      }
    };
    for_each([&joined](const Known& known) { tell(known, joined); });
    for_each([&joined](Known& known) { known = joined; });
  }

  Scope scope_;
  std::array<Known, kIds> known_ = {};     // [who knows][who is known]
  std::array<Known, kIds> fenced_ = {};    // the part of `known_` that comes before a fence
  std::array<Known, kIds> observed_ = {};  // what atomic operations handed over
  std::array<Known, kBytes> handed_over_ = {};
  std::array<Known, kBlocks> released_ = {};  // through the single object of each block
  std::array<Known, kBlocks> ended_ = {};
  std::vector<Past> past_;
};

// Most races are removed, so that many events come before the first one.
inline std::vector<Event> draw_events(Draw& draw, const Setting& setting) {
  std::vector<Event> events;
  Clocks clocks(setting.scope);
  const int count = draw.growing<int>(1, 120);
  for (int i = 0; i < count; ++i) {
    const int block = setting.is_cooperative ? draw.growing<int>(0, kBlocks - 1) : 3 * i / count;
    const Event event = draw_event(draw, setting, static_cast<unsigned>(block));
    Clocks after = clocks;
    if (after.take(event) && draw.growing(0, 9) > 0) continue;
    clocks = std::move(after);
    events.push_back(event);
  }
  return events;
}

}  // namespace recto::simt

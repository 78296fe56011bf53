// Records see the first race there is, and none where there is none: against clocks of all threads,
// on drawn accesses and barriers.

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bazel/testing/property.h"
#include "verify/simt/checks/access_order.h"
#include "verify/simt/checks/access_record.h"
#include "verify/simt/checks/shadow_cells.h"
#include "verify/simt/executor/launch.h"
#include "verify/simt/executor/scheduler.h"

namespace recto::simt {
namespace {

constexpr unsigned kBlocks = 3;
constexpr unsigned kThreads = 64;
constexpr std::size_t kBytes = 4;
// Few, so that they meet often: in one warp and in two.
constexpr std::array<unsigned, 6> kActors = {0, 1, 17, 31, 32, 63};

enum class Step : std::uint8_t { kAccess, kWarpBarrier, kBlockBarrier, kGridBarrier };

struct Event {
  Step step = Step::kAccess;
  unsigned block = 0;
  unsigned thread = 0;
  AccessKind kind = AccessKind::kRead;
  std::size_t offset = 0;
  std::size_t bytes = 1;
  std::uint32_t lanes = 0;  // of the thread's warp
};

// Which memory, and how the thread blocks run.
struct Setting {
  Scope scope = Scope::kBlock;
  bool is_cooperative = false;
  bool has_atomics = false;
};

// In each case.
constexpr int kPrograms = 20;

int any_in(int first, int last) { return *rc::gen::inRange(first, last + 1); }

Event any_event(const Setting& setting, unsigned block) {
  Event event;
  event.block = block;
  event.thread = kActors[static_cast<std::size_t>(any_in(0, kActors.size() - 1))];
  const int step = any_in(0, 19);
  if (step == 0 && setting.is_cooperative) {
    event.step = Step::kGridBarrier;
  } else if (step == 1) {
    event.step = Step::kBlockBarrier;
  } else if (step <= 6) {
    event.step = Step::kWarpBarrier;
    event.lanes = 1U << event.thread % kWarpSize;
    for (const unsigned actor : kActors) {
      if (actor / kWarpSize == event.thread / kWarpSize && any_in(0, 2) > 0) {
        event.lanes |= 1U << actor % kWarpSize;
      }
    }
  }
  event.bytes = std::size_t{1} << any_in(0, 2);
  event.offset = static_cast<std::size_t>(any_in(0, 3)) / event.bytes * event.bytes;
  // Twice as many reads as writes.
  event.kind = any_in(0, 2) > 0 ? AccessKind::kRead : AccessKind::kWrite;
  if (setting.has_atomics && any_in(0, 1) > 0) {
    event.kind = any_in(0, 2) > 0 ? AccessKind::kAtomic : AccessKind::kAtomicRead;
  }
  return event;
}

bool is_write(AccessKind kind) { return kind == AccessKind::kWrite || kind == AccessKind::kAtomic; }
bool is_atomic(AccessKind kind) {
  return kind == AccessKind::kAtomic || kind == AccessKind::kAtomicRead;
}

// Each thread knows of each how far it has come.
class Clocks {
 public:
  explicit Clocks(Scope scope) : scope_(scope) {}

  // Whether it is an access that is in a race with an earlier one.
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
      case Step::kAccess:
        break;
    }
    const std::size_t id = id_of(event.block, event.thread);
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

  template <typename IsIn>
  void join(IsIn is_in) {
    Known joined = {};
    const auto for_each = [&](auto visit) {
      for (unsigned block = 0; block < kBlocks; ++block) {
        for (const unsigned thread : kActors) {
          if (is_in(block, thread)) visit(known_[id_of(block, thread)]);
        }
      }
    };
    for_each([&joined](const Known& known) {
      for (std::size_t i = 0; i < kIds; ++i) joined[i] = std::max(joined[i], known[i]);
    });
    for_each([&joined](Known& known) { known = joined; });
  }

  Scope scope_;
  std::array<Known, kIds> known_ = {};  // [who knows][who is known]
  std::vector<Past> past_;
};

// Most races are left out, so that what comes before the first one is long.
std::vector<Event> any_events(const Setting& setting) {
  std::vector<Event> events;
  Clocks clocks(setting.scope);
  const int count = any_in(1, 120);
  for (int i = 0; i < count; ++i) {
    const int block = setting.is_cooperative ? any_in(0, kBlocks - 1) : 3 * i / count;
    const Event event = any_event(setting, static_cast<unsigned>(block));
    Clocks after = clocks;
    if (after.take(event) && any_in(0, 9) > 0) continue;
    clocks = std::move(after);
    events.push_back(event);
  }
  return events;
}

// The same by records.
class Records {
 public:
  explicit Records(const Setting& setting)
      : setting_(setting),
        config_{"drawn", {kBlocks}, {kThreads}, 0, setting.is_cooperative},
        launch_(config_, call_, options_, nullptr) {
    REQUIRE(cells_.map(kBytes));
    order_.begin_launch(launch_);
    for (unsigned i = 0; i < kBlocks; ++i) {
      blocks_.push_back(std::make_unique<ThreadBlock>());
      if (setting.is_cooperative) begin(i);
    }
  }

  bool take(const Event& event) {
    if (!setting_.is_cooperative && event.block != last_) begin(event.block);
    last_ = event.block;
    ThreadBlock& block = *blocks_[event.block];
    switch (event.step) {
      case Step::kWarpBarrier:
        order_.pass_warp_barrier(block, event.thread / kWarpSize, event.lanes);
        return false;
      case Step::kBlockBarrier:
        order_.pass_barrier(block);
        return false;
      case Step::kGridBarrier:
        order_.pass_grid_barrier();
        return false;
      case Step::kAccess:
        break;
    }
    order_.resume(block.threads()[event.thread]);
    return setting_.scope == Scope::kBlock ? access<Scope::kBlock>(event)
                                           : access<Scope::kGrid>(event);
  }

 private:
  void begin(unsigned block) {
    blocks_[block]->begin(launch_, scheduler_, block);
    order_.begin_block(*blocks_[block]);
  }

  template <Scope kScope>
  bool access(const Event& event) {
    AccessRecorder<kScope> recorder(order_, 0, 0);
    bool races = false;
    cells_.for_each(event.offset, event.bytes, [&](AccessRecord& record, std::size_t, std::size_t) {
      const Conflict conflict = recorder.note(record, event.kind);
      races = races || conflict.kind != ConflictKind::kNone;
    });
    return races;
  }

  const Setting setting_;
  const LaunchConfig config_;
  const KernelCall call_ = {};
  const ExecutorOptions options_ = {};
  Launch launch_;
  Scheduler scheduler_{4096};
  AccessOrder order_;
  ShadowCells cells_;
  std::vector<std::unique_ptr<ThreadBlock>> blocks_;
  std::optional<unsigned> last_;
};

// Number of the first event that is in a race.
template <typename Judge>
std::optional<std::size_t> first_race(const std::vector<Event>& events, Judge&& judge) {
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (judge.take(events[i])) return i;
  }
  return std::nullopt;
}

void compare(const Setting& setting) {
  for (int program = 0; program < kPrograms; ++program) {
    const std::vector<Event> events = any_events(setting);
    const std::optional<std::size_t> expected = first_race(events, Clocks(setting.scope));
    const std::optional<std::size_t> seen = first_race(events, Records(setting));
    RC_CLASSIFY(expected.has_value());
    RC_ASSERT(seen == expected);
  }
}

TEST_CASE("records and full clocks see the same first race") {
  rc::prop("in shared memory", [] { compare({Scope::kBlock, false, false}); });
  rc::prop("in global memory, thread blocks one after the other", [] {
    compare({Scope::kGrid, false, false});
  });
  rc::prop("in global memory, thread blocks side by side", [] {
    compare({Scope::kGrid, true, false});
  });
}

// Of several atomic operations one stands for all when a plain read comes, so that some are missed.
TEST_CASE("with atomic operations records see no race where there is none") {
  for (const Scope scope : {Scope::kBlock, Scope::kGrid}) {
    rc::prop(scope == Scope::kBlock ? "in shared memory" : "in global memory", [scope] {
      const Setting setting = {scope, scope == Scope::kGrid, true};
      const std::vector<Event> events = any_events(setting);
      const std::optional<std::size_t> seen = first_race(events, Records(setting));
      Clocks clocks(setting.scope);
      bool races = false;
      for (std::size_t i = 0; seen && i <= *seen; ++i) races = clocks.take(events[i]);
      RC_CLASSIFY(seen.has_value());
      RC_ASSERT(!seen || races);
    });
  }
}

}  // namespace
}  // namespace recto::simt

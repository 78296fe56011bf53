// Records find the first race of random accesses and barriers, and report no race where there is
// none: compared with full vector clocks.

#include <array>
#include <optional>
#include <vector>

#include "bazel/testing/property.h"
#include "verify/simt/checks/access_order.h"
#include "verify/simt/checks/access_recorder.h"
#include "verify/simt/checks/drawn_accesses.h"
#include "verify/simt/checks/shadow_cells.h"
#include "verify/simt/executor/launch.h"
#include "verify/simt/executor/scheduler.h"

namespace recto::simt {
namespace {

// Per case.
constexpr int kPrograms = 10;

// Finds races with records.
class Records {
 public:
  explicit Records(const Setting& setting)
      : setting_(setting),
        config_{"drawn", {kBlocks}, {kThreads}, 0, setting.is_cooperative},
        launch_(config_, call_, options_, nullptr) {
    REQUIRE(cells_.map(kBytes));
    order_.begin_launch(launch_);
    for (unsigned i = 0; i < kBlocks && setting.is_cooperative; ++i) begin(i);
  }

  bool take(const Event& event) {
    if (!setting_.is_cooperative && event.block != last_) begin(event.block);
    last_ = event.block;
    ThreadBlock& block = block_at(event.block);
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
      case Step::kRelease:
        order_.release(block.threads()[event.thread], &block);
        return false;
      case Step::kEndPhase:
        order_.end_phase(block, &block);
        return false;
      case Step::kAcquire:
        order_.acquire(block.threads()[event.thread], &block);
        return false;
      case Step::kFence:
        order_.pass_fence(block.threads()[event.thread]);
        return false;
      case Step::kAccess:
        break;
    }
    order_.resume(block.threads()[event.thread]);
    const bool races = setting_.scope == Scope::kBlock ? access<Scope::kBlock>(event)
                                                       : access<Scope::kGrid>(event);
    if (order_.has_fences() && is_atomic(event.kind)) {
      order_.pass_atomic(block.threads()[event.thread], event.offset, event.kind);
    }
    return races;
  }

 private:
  void begin(unsigned block) {
    block_at(block).begin(launch_, scheduler_, block);
    order_.begin_block(block_at(block));
  }

  // The scheduler reuses thread blocks; so does this.
  static ThreadBlock& block_at(unsigned block) {
    static std::array<ThreadBlock, kBlocks> blocks;
    return blocks[block];
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

void compare(Draw& draw, const Setting& setting) {
  for (int program = 0; program < kPrograms; ++program) {
    const std::vector<Event> events = draw_events(draw, setting);
    const std::optional<std::size_t> expected = first_race(events, Clocks(setting.scope));
    const std::optional<std::size_t> seen = first_race(events, Records(setting));
    RECTO_REQUIRE(seen == expected);
  }
}

TEST_CASE("records and full clocks see the same first race") {
  property("in shared memory", [](Draw& draw) {
    compare(draw, {Scope::kBlock, false, false, false});
  });
  property("in global memory, thread blocks one after the other", [](Draw& draw) {
    compare(draw, {Scope::kGrid, false, false, false});
  });
  property("in global memory, thread blocks side by side", [](Draw& draw) {
    compare(draw, {Scope::kGrid, true, false, false});
  });
}

void expect_no_false_alarm(Draw& draw, const Setting& setting) {
  for (int program = 0; program < kPrograms; ++program) {
    const std::vector<Event> events = draw_events(draw, setting);
    const std::optional<std::size_t> seen = first_race(events, Records(setting));
    Clocks clocks(setting.scope);
    bool races = false;
    for (std::size_t i = 0; seen && i <= *seen; ++i) races = clocks.take(events[i]);
    RECTO_REQUIRE((!seen || races));
  }
}

// When a plain read comes, one atomic operation stands for several, and two of several reading
// warps are recorded, so some races are missed.
TEST_CASE("records report no race where there is none, with atomic operations or messages") {
  property("atomic operations in shared memory", [](Draw& draw) {
    expect_no_false_alarm(draw, {Scope::kBlock, false, true, false});
  });
  property("atomic operations in global memory", [](Draw& draw) {
    expect_no_false_alarm(draw, {Scope::kGrid, true, true, false});
  });
  property("messages in shared memory", [](Draw& draw) {
    expect_no_false_alarm(draw, {Scope::kBlock, false, false, true});
  });
  property("both in global memory", [](Draw& draw) {
    expect_no_false_alarm(draw, {Scope::kGrid, true, true, true});
  });
  for (const bool is_cooperative : {false, true}) {
    property("fences in global memory", [is_cooperative](Draw& draw) {
      expect_no_false_alarm(draw, {Scope::kGrid, is_cooperative, true, false, true});
    });
  }
}

}  // namespace
}  // namespace recto::simt

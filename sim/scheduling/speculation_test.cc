// Tests of steps that yield more than one token. Blocks of 4 slots.

#include <algorithm>
#include <map>
#include <vector>

#include "bazel/testing/catch.h"
#include "core/contract.h"
#include "core/random_stream.h"
#include "sim/allocators/prefix_cached_allocator.h"
#include "sim/scheduling/continuous_scheduler.h"

namespace recto::sim {
namespace {

Request request_of(std::int64_t id, std::int64_t prompt, std::int64_t output) {
  return {.id = id, .prompt_tokens = TokenCount(prompt), .output_tokens = TokenCount(output)};
}

// Counts steps; the gauges check after each step that the states add up to the pool.
struct Run {
  Run(Allocator& allocator, const SchedulerOptions& options)
      : scheduler(options, allocator, counters, nullptr) {}

  bool plan() {
    const StepPlan::Kind kind = scheduler.plan(SimTime(now)).kind;
    static_cast<void>(scheduler.gauges());
    RECTO_CHECK(kind == StepPlan::Kind::kIdle || kind == StepPlan::Kind::kStep);
    return kind == StepPlan::Kind::kStep;
  }
  void complete() {
    scheduler.complete(SimTime(++now));
    static_cast<void>(scheduler.gauges());
  }
  void gain(std::int64_t request, std::int64_t tokens) {
    scheduler.gain(request, tokens, SimTime(now));
    static_cast<void>(scheduler.gauges());
  }

  std::int64_t now = 0;
  Counters counters;
  ContinuousScheduler scheduler;
};

TEST_CASE("tokens gained beyond a step's own are counted, and have slots") {
  PagedAllocator allocator({.pool_slots = TokenCount(32), .block_size = TokenCount(4)});
  Run run(allocator, {});
  run.scheduler.enqueue(request_of(0, 5, 9), SimTime(0));
  // One step for the prompt, one for a token.
  for (int step = 0; step < 2; ++step) {
    REQUIRE(run.plan());
    run.complete();
  }
  CHECK(run.scheduler.gauges()[Gauge::kUsed] == 6);
  CHECK(run.scheduler.gauges()[Gauge::kHeldBlocks] == 2);
  run.gain(0, 3);
  CHECK(run.scheduler.gauges()[Gauge::kUsed] == 9);
  CHECK(run.scheduler.gauges()[Gauge::kReserved] == 3);
  CHECK(run.scheduler.gauges()[Gauge::kHeldBlocks] == 3);
  // The context ends at 13: three of the last four tokens are gained.
  REQUIRE(run.plan());
  run.complete();
  run.gain(0, 2);
  CHECK(run.counters.requests_finished == 0);
  REQUIRE(run.plan());
  run.complete();
  CHECK(run.counters.requests_finished == 1);
  CHECK(run.counters.output_tokens == 9);
  CHECK(run.counters.steps == 4);
  CHECK(run.scheduler.gauges()[Gauge::kFree] == 32);
}

TEST_CASE("a request may gain its last tokens, and no more") {
  for (const std::int64_t tokens : {3, 4}) {
    PagedAllocator allocator({.pool_slots = TokenCount(32), .block_size = TokenCount(4)});
    Run run(allocator, {});
    run.scheduler.enqueue(request_of(0, 5, 5), SimTime(0));
    for (int step = 0; step < 2; ++step) {
      REQUIRE(run.plan());
      run.complete();
    }
    if (tokens == 4) {
      CHECK_THROWS(run.gain(0, tokens));
      continue;
    }
    run.gain(0, tokens);
    CHECK(run.counters.requests_finished == 1);
    CHECK_FALSE(run.plan());
  }
}

TEST_CASE("a request that does not run gains no tokens") {
  PagedAllocator allocator({.pool_slots = TokenCount(32), .block_size = TokenCount(4)});
  Run run(allocator, {});
  run.scheduler.enqueue(request_of(0, 5, 5), SimTime(0));
  CHECK_THROWS_AS(run.gain(0, 1), ContractFailure);  // it is waiting
  REQUIRE(run.plan());
  run.complete();
  CHECK_THROWS_AS(run.gain(1, 1), ContractFailure);
  run.gain(0, 1);
}

// Gains random numbers of tokens for decoding groups while the pool has room. Returns the number of
// tokens gained.
std::int64_t gain_at_random(Run& run, const Allocator& allocator, RandomStream& stream) {
  std::map<std::int64_t, std::int64_t> most;  // by request
  std::int64_t all = 0;
  for (const SequenceGroup* group : run.scheduler.holders()) {
    if (group->phase != SequenceGroupPhase::kDecoding) continue;
    most[group->request.id] = group->final_context() - run.scheduler.context(*group, 0);
  }
  for (const auto& [request, tokens] : most) {
    const auto gained = static_cast<std::int64_t>(stream.next_below(4));
    const PoolCounts counts = allocator.counts();
    // Room for three members, each of which may begin two blocks.
    if ((counts.free + counts.cached).value() < 3 * 2 * 4) break;
    if (gained == 0 || gained > tokens) continue;
    run.gain(request, gained);
    all += gained;
  }
  return all;
}

TEST_CASE("every request ends with its tokens, whatever others gain and whichever is preempted") {
  std::int64_t gained_plain = 0;
  std::int64_t gained_cached = 0;
  std::int64_t preemptions = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    RandomStream stream(seed);
    const PagedOptions pool = {.pool_slots = TokenCount(4 * 24), .block_size = TokenCount(4)};
    PagedAllocator plain(pool);
    PrefixCachedAllocator cached(pool);
    Allocator& allocator = seed % 2 == 0 ? static_cast<Allocator&>(plain) : cached;
    // Windows require sequences that share no blocks.
    const bool has_window = seed % 4 == 0;
    Run run(allocator,
            {.admission = AdmissionRule::kFirstChunk, .window = TokenCount(has_window ? 7 : 0)});
    std::int64_t expected = 0;
    for (std::int64_t id = 0; id < 8; ++id) {
      Request request = request_of(id, 1 + static_cast<std::int64_t>(stream.next_below(20)),
                                   1 + static_cast<std::int64_t>(stream.next_below(16)));
      if (!has_window && stream.next_below(3) == 0) {
        request.decoding = Decoding::kParallel;
        request.width = 3;
      }
      expected += request.width * request.output_tokens.value();
      run.scheduler.enqueue(request, SimTime(0));
    }
    while (run.plan()) {
      run.complete();
      (seed % 2 == 0 ? gained_plain : gained_cached) += gain_at_random(run, allocator, stream);
    }
    INFO("seed " << seed);
    CHECK(run.counters.requests_finished == 8);
    CHECK(run.scheduler.gauges()[Gauge::kHeldBlocks] == 0);
    // A resumed group computes its newest token again, and counts it as new.
    CHECK(run.counters.output_tokens >= expected);
    if (run.counters.preemptions_recompute == 0) CHECK(run.counters.output_tokens == expected);
    preemptions += run.counters.preemptions_recompute;
  }
  CHECK(preemptions > 0);
  CHECK(gained_plain > 0);
  CHECK(gained_cached > 0);
}

}  // namespace
}  // namespace recto::sim

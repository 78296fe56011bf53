// Find faults of the block manager without knowing any: all short histories of commands, and many
// random ones. A manager without a fault passes.

#include <cstdint>
#include <vector>

#include "bazel/testing/catch.h"
#include "core/contract.h"
#include "core/random_stream.h"
#include "cuda/cache/testing/cache_scenario.h"
#include "cuda/cache/testing/cache_walk.h"
#include "verify/block_manager/testing/lockstep.h"
#include "verify/block_manager/testing/small_scope.h"

namespace recto::verify {
namespace {

using cache::testing::CacheCommand;
using cache::testing::CacheScenario;
using cache::testing::CommandKind;
using cache::testing::Coverage;

SmallScope small_scope() {
  using enum CommandKind;
  SmallScope scope;
  scope.options.num_blocks = BlockCount(2);
  scope.options.block_size = TokenCount(2);
  scope.options.host_blocks = BlockCount(2);
  scope.options.max_sequences = 2;
  scope.options.max_blocks_per_sequence = BlockCount(2);
  scope.options.prefix.max_pins = 1;
  scope.prompts = {{.count = 1}, {.count = 3}, {.count = 3, .token = 1}};
  scope.kinds = {kAppend,   kAppendBatch, kReserve, kCommit, kFork,    kBeamStep,
                 kTruncate, kRelease,     kPreempt, kResume, kSwapOut, kSwapIn,
                 kComplete, kPin,         kUnpin,   kReset};
  scope.depth = 4;
  return scope;
}

// Longer ones, of sequences that share and wait in host memory.
SmallScope waiting_scope() {
  using enum CommandKind;
  SmallScope scope = small_scope();
  scope.options.num_blocks = scope.options.host_blocks = BlockCount(3);
  scope.prompts = {{.count = 1}};
  scope.kinds = {kAppend, kFork, kSwapOut, kSwapIn, kComplete};
  scope.depth = 6;
  return scope;
}

TEST_CASE("finder: short sequences of commands") {
  try {
    for (const SmallScope& scope : {small_scope(), waiting_scope()}) {
      const ScopeReport report = explore(scope);
      CHECK(report.depth == scope.depth);
    }
  } catch (const ContractFailure& failure) {
    FAIL(failure.what());
  }
}

TEST_CASE("finder: random commands, and the model") {
  Coverage coverage;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    RandomStream stream(seed);
    const CacheScenario scenario = cache::testing::draw_scenario(stream, {.commands_max = 200});
    INFO("scenario " << seed);
    REQUIRE_FALSE(scenario.commands.empty());
    try {
      Lockstep lockstep(scenario.options, scenario.alphabet, coverage);
      for (const CacheCommand& command : scenario.commands) lockstep.run(command);
    } catch (const ContractFailure& failure) {
      FAIL(failure.what());
    }
  }
  CHECK(coverage.times("evictions") > 0);
}

TEST_CASE("finder: a random engine, and the invariants") {
  Coverage coverage;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    INFO("walk " << seed);
    RandomStream stream(seed);
    const CacheScenario scenario = cache::testing::draw_scenario(stream, {.commands_max = 320});
    try {
      cache::testing::CacheWalk walk(scenario.options, scenario.alphabet, coverage);
      for (const CacheCommand& command : scenario.commands) walk.run(command);
    } catch (const ContractFailure& failure) {
      FAIL(failure.what());
    }
  }
  CHECK(coverage.times("copies on write") > 0);
}

}  // namespace
}  // namespace recto::verify

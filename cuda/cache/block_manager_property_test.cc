// Random histories: see testing/cache_walk.h for what is checked after each command. Each thing
// that has to happen is counted, printed, and must have happened. RECTO_FULL=1 walks ten times as
// far.

#include "cuda/cache/block_manager.h"

#include <cstdint>
#include <iostream>
#include <map>
#include <string>

#include "bazel/testing/catch.h"
#include "core/contract.h"
#include "core/random_stream.h"
#include "cuda/cache/testing/cache_scenario.h"
#include "cuda/cache/testing/cache_walk.h"

namespace recto::cache {
namespace {

using testing::CommandKind;

using Counts = std::map<std::string, std::int64_t>;

void add_statistics(const CacheStatistics& done, Counts& counts) {
  counts["blocks evicted"] += done.evicted;
  counts["blocks overwritten"] += done.overwritten;
  counts["duplicate blocks"] += done.duplicates;
  counts["hash collisions"] += done.collisions;
  counts["blocks evicted for nodes"] += done.evicted_for_nodes;
  counts["index full"] += done.no_node;
  counts["too many items"] += done.too_many_items;
  counts["hit tokens"] += done.hit_tokens;
}

void add_answers(const testing::Coverage& coverage, Counts& counts) {
  for (int i = 0; i < testing::kNumCommandKinds; ++i) {
    const auto kind = static_cast<CommandKind>(i);
    const std::string name = testing::command_kind_name(kind);
    counts[name + " refused"] = coverage.answers(kind, StatusCode::kInvalidInput) +
                                coverage.answers(kind, StatusCode::kExhausted);
    if (kind != CommandKind::kMisuse) counts[name] = coverage.answers(kind, StatusCode::kOk);
  }
  for (const char* event :
       {"copies on write", "releases during a swap out", "releases during a swap in"}) {
    counts[event] = coverage.times(event);
  }
  // With a valid handle these succeed in each state.
  for (const char* what :
       {"complete refused", "release refused", "reset refused", "unpin refused"}) {
    CHECK(counts[what] == 0);
    counts.erase(what);
  }
}

TEST_CASE("no history breaks an invariant, a promise, or a sequence's tokens") {
  const std::uint64_t walks = is_full_run() ? 10'000 : 1000;
  Counts counts;
  testing::Coverage coverage;
  for (std::uint64_t seed = 1; seed <= walks; ++seed) {
    RandomStream stream(seed);
    const testing::CacheScenario scenario = testing::draw_scenario(stream, {.commands_max = 640});
    testing::CacheWalk walk(scenario.options, scenario.alphabet, coverage);
    try {
      for (const testing::CacheCommand& command : scenario.commands) walk.run(command);
    } catch (const ContractFailure& failure) {
      FAIL("walk of seed " << seed << ": " << failure.what() << "\nafter" << walk.log());
    }
    add_statistics(walk.manager().statistics(), counts);
  }
  add_answers(coverage, counts);
  for (const auto& [what, count] : counts) {
    std::cout << what << ": " << count << '\n';
    INFO(what);
    CHECK(count > 0);
  }
}

}  // namespace
}  // namespace recto::cache

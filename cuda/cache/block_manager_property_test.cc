// Random histories: see random_walk.h for what is looked at after each step. Each thing that has to
// happen is counted, printed, and must have happened. RECTO_FULL=1 walks ten times as far.

#include "cuda/cache/block_manager.h"

#include <cstdint>
#include <iostream>
#include <map>
#include <string>

#include "bazel/testing/catch.h"
#include "cuda/cache/testing/random_walk.h"

namespace recto::cache {
namespace {

using testing::RandomWalk;

void add_statistics(const CacheStatistics& done, std::map<std::string, std::int64_t>& counts) {
  counts["blocks evicted"] += done.evicted;
  counts["blocks overwritten"] += done.overwritten;
  counts["duplicate blocks"] += done.duplicates;
  counts["hash collisions"] += done.collisions;
  counts["blocks evicted for nodes"] += done.evicted_for_nodes;
  counts["index full"] += done.no_node;
  counts["too many items"] += done.too_many_items;
}

TEST_CASE("no history breaks an invariant, a promise, or a sequence's tokens") {
  constexpr int kSteps = 400;
  const std::uint64_t walks = is_full_run() ? 10'000 : 1000;
  std::map<std::string, std::int64_t> counts;
  for (std::uint64_t seed = 1; seed <= walks; ++seed) {
    RandomWalk walk(seed);
    for (int step = 0; step < kSteps; ++step) {
      const Status status = walk.step();
      if (status.is_ok()) continue;
      INFO("walk of seed " << seed << ", step " << step);
      REQUIRE(status == Status::ok());
    }
    for (const auto& [what, count] : walk.counts()) counts[what] += count;
    add_statistics(walk.manager().statistics(), counts);
  }
  for (const auto& [what, count] : counts) {
    std::cout << what << ": " << count << '\n';
    INFO(what);
    CHECK(count > 0);
  }
  for (const char* what :
       {"admit refused", "append one each refused", "beam step refused", "copy on write",
        "fork refused", "hit", "pin", "release of one not running", "reset", "resume refused",
        "swap in", "swap in refused", "truncate refused"}) {
    INFO(what);
    CHECK(counts[what] > 0);
  }
}

}  // namespace
}  // namespace recto::cache

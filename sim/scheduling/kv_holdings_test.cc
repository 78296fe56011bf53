#include "sim/scheduling/kv_holdings.h"

#include <cstdint>
#include <vector>

#include "bazel/testing/catch.h"
#include "sim/allocators/paged_allocator.h"

namespace recto::sim {
namespace {

using Entries = std::vector<std::vector<std::int32_t>>;

TEST_CASE("sharing gives the source member's blocks to the target member alone") {
  PagedAllocator allocator({.pool_slots = TokenCount(64), .block_size = TokenCount(4)});
  Counters counters;
  KvHoldings holdings(allocator, counters, TokenCount(0));
  SequenceGroup group;
  group.request = {.prompt_tokens = TokenCount(8), .output_tokens = TokenCount(8), .width = 4};
  for (std::int32_t member = 0; member < 4; ++member) group.members.emplace_back(member);
  holdings.open(group);
  REQUIRE(holdings.grow(group, 0, 0, 8));
  REQUIRE(holdings.grow(group, 1, 0, 12));  // the requested length, and more
  holdings.share(group, 0, 2, 8);
  REQUIRE(allocator.shape(group.members, TokenCount(8)).entries ==
          Entries{{0, 1}, {2, 3, 4}, {0, 1}, {}});
  holdings.share(group, 1, 3, 12);
  CHECK(allocator.shape(group.members, TokenCount(8)).entries ==
        Entries{{0, 1}, {2, 3, 4}, {0, 1}, {2, 3, 4}});
}

}  // namespace
}  // namespace recto::sim

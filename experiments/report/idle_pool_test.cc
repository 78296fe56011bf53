// The advice if a run hardly fills the pool.

#include "bazel/testing/catch.h"
#include "experiments/report/block_size_advice.h"

namespace recto::experiments {
namespace {

using Catch::Matchers::EndsWith;
using Catch::Matchers::StartsWith;

BlockSizeFigures size_of(std::int64_t block_size, double used, double waste) {
  BlockSizeFigures figures{.block_size = block_size,
                           .used = {.mean = used},
                           .waste = {.mean = waste},
                           .prefix_hit = {},
                           .table_bytes = {.mean = 4096.0 / static_cast<double>(block_size)},
                           .copied_bytes = {},
                           .output_per_s = {.mean = 1000},
                           .requests_rejected = {},
                           .requests_finished = {.mean = 300}};
  figures.s_per_token = SeedMean{.mean = 0.03};
  return figures;
}

TEST_CASE("In a pool that is hardly filled, none of equally good sizes is recommended") {
  const auto idle = advise({size_of(16, 0.002, 0.0001), size_of(256, 0.002, 0.001)});
  CHECK(!idle->recommended.has_value());
  CHECK(idle->reason ==
        "This run holds 0.3 % of the pool at most, on average: too little to distinguish block "
        "sizes by the slots they hold empty. By all else blocks 16, 256 are equally good. None is "
        "recommended; more load, or a smaller pool, may decide.");
  const auto filled = advise({size_of(16, kIdleShare, 0.0001), size_of(256, kIdleShare, 0.001)});
  CHECK(filled->recommended == 256);
  CHECK_THAT(filled->reason, EndsWith("of equally good sizes the largest is taken."));
}

TEST_CASE("In a pool that is hardly filled, sizes that differ in speed are still ranked") {
  BlockSizeFigures slow = size_of(256, 0.002, 0.001);
  slow.s_per_token->mean *= 1.1;
  const auto told = advise({size_of(16, 0.002, 0.0001), slow});
  CHECK(told->recommended == 16);
  CHECK_THAT(told->reason, StartsWith("Block 16 is the only size"));
  CHECK_THAT(told->reason,
             EndsWith("too little to distinguish block sizes by the slots they hold empty."));
}

}  // namespace
}  // namespace recto::experiments

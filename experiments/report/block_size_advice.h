#pragma once

// The recommended block size for a workload, with a reason in words, and its costs.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "experiments/report/block_size_criteria.h"
#include "experiments/support/run_config.h"

namespace recto::experiments {

struct BlockSizeVerdict {
  std::int64_t block_size = 0;
  bool is_good = false;   // near enough to the best in every deciding criterion
  bool is_worse = false;  // too far from the best in a deciding criterion, by more than chance
  std::vector<std::string> drawbacks;  // criteria too far from the best, in words
  // Criteria that may be too far: seeds disagree on which size is better.
  std::vector<std::string> not_told_apart;
  // Another size that is no worse in any column and better in one.
  std::optional<std::int64_t> beaten_by;
};

struct BlockSizeAdvice {
  std::optional<std::int64_t> recommended;  // nullopt: see advise()
  std::string reason;                       // a sentence or two
  std::vector<std::string> trade_offs;      // gains and costs of the neighbouring sizes
  std::vector<BlockSizeVerdict> verdicts;   // one per size, in their order
};

// Chooses among the sizes that reject the fewest requests, and compares all sizes with them,
// because a size that serves fewer requests is easily faster. Recommends the largest good size,
// because larger blocks mean smaller tables, less upkeep and fewer addresses for a kernel to
// follow, unless another good size is no worse in anything; if none is good, the size with the
// least s_per_token. Recommends none if the seeds separate no sizes, if all sizes are good in a run
// that hardly fills the pool, or if no request is served, or none within the latency limits. The
// reason has the drawbacks of the recommended size, and the number of rejected requests. nullopt
// with fewer than two sizes. `sizes` must be ascending, and means over `seeds` seeds. O(sizes
// squared).
std::optional<BlockSizeAdvice> advise(const std::vector<BlockSizeFigures>& sizes,
                                      std::int64_t seeds = 1);

// Gains and costs of block size `to` instead of `from`, which serves requests: "Block 32 instead:
// held empty 1.6 points up, block tables x 0.5, ...". Marks differences that the seeds do not
// separate.
std::string trade_off(const BlockSizeFigures& from, const BlockSizeFigures& to);

Json to_json(const BlockSizeAdvice& advice);

}  // namespace recto::experiments

#pragma once

// Which block size suits a workload, by a rule that can be read, and what it costs.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "experiments/report/block_size_criteria.h"
#include "experiments/support/run_config.h"

namespace recto::experiments {

struct BlockSizeVerdict {
  std::int64_t block_size = 0;
  bool is_good = false;   // in all that decides, as near to the best as is good
  bool is_worse = false;  // in something that decides further than that, by more than chance
  std::vector<std::string> drawbacks;  // where it is further from the best than is good, in words
  // Where it may be, too: seeds differ in which is better.
  std::vector<std::string> not_told_apart;
  // Another size that is no worse in any column and better in one.
  std::optional<std::int64_t> beaten_by;
};

struct BlockSizeAdvice {
  std::optional<std::int64_t> recommended;  // nothing is where seeds tell no size apart
  std::string reason;                       // a sentence or two
  std::vector<std::string> trade_offs;      // what the neighbouring sizes would give and take
  std::vector<BlockSizeVerdict> verdicts;   // one per size, in their order
};

// Chooses among the sizes that reject the fewest requests, and compares all sizes with them: a size
// that serves fewer requests is quick with ease. Recommends the largest good one, since larger
// blocks mean smaller tables, less upkeep and fewer addresses for a kernel to follow, unless
// another good one is no worse in anything; if none is good, the one with the least s_per_token.
// Recommends none where seeds tell no size apart, or all are good in a run that hardly fills the
// pool, or where nothing is served, or nothing within the latency limits. The reason has the
// drawbacks of what is recommended, and how many requests are rejected. nullopt with fewer than two
// sizes. `sizes` must be ascending, and means over `seeds` seeds. O(sizes squared).
std::optional<BlockSizeAdvice> advise(const std::vector<BlockSizeFigures>& sizes,
                                      std::int64_t seeds = 1);

// What block size `to` would give and take instead of `from`, which serves requests: "Block 32
// instead: held empty 1.6 points up, block tables x 0.5, ...". What seeds do not tell apart is
// called so.
std::string trade_off(const BlockSizeFigures& from, const BlockSizeFigures& to);

Json to_json(const BlockSizeAdvice& advice);

}  // namespace recto::experiments

#pragma once

// Which block size suits a workload, by a rule that can be read, and what it costs.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "experiments/support/run_config.h"

namespace recto::experiments {

// One block size of one allocator, everything else being equal.
struct BlockSizeFigures {
  std::int64_t block_size = 0;
  double waste = 0;  // reserved, internal and overhead slots: a share of the pool, time-weighted
  double prefix_hit = 0;    // of the context wanted at admissions
  double table_bytes = 0;   // block-table entries, 4 bytes each, mean
  double copied_bytes = 0;  // copy-on-write, over the whole run
  double output_per_s = 0;  // tokens, or requests within the limits where there are limits
  double s_per_token = 0;   // end to end over output tokens, mean over requests
  double requests_rejected = 0;
  std::optional<double> kernel_s = {};  // attention of a decode step, where it was measured
};

// How far a size may be from the best of all sizes and still count as good: one percentage point of
// a share, a hundredth of a rate or time.
inline constexpr double kGoodShare = 0.01;
inline constexpr double kGoodRatio = 0.01;

struct BlockSizeVerdict {
  std::int64_t block_size = 0;
  bool is_good = false;                // within those distances everywhere
  std::vector<std::string> drawbacks;  // where it is not, in words and figures
  // Another size that is no worse in any column and better in one.
  std::optional<std::int64_t> beaten_by;
};

struct BlockSizeAdvice {
  std::int64_t recommended = 0;
  std::string reason;                      // a sentence or two
  std::vector<std::string> trade_offs;     // what the neighbouring sizes would give and take
  std::vector<BlockSizeVerdict> verdicts;  // one per size, in their order
};

// Recommends the largest good size, since larger blocks mean smaller tables, less upkeep and fewer
// addresses for a kernel to follow; if none is good, the size with the least s_per_token. nullopt
// with fewer than two sizes to choose from. `sizes` must be ascending. O(sizes squared).
std::optional<BlockSizeAdvice> advise(const std::vector<BlockSizeFigures>& sizes);

Json to_json(const BlockSizeAdvice& advice);

}  // namespace recto::experiments

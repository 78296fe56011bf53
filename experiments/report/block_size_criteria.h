#pragma once

// By what block sizes are compared, and how.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "experiments/support/statistics.h"

namespace recto::experiments {

// One block size of one allocator, everything else being equal. Under several seeds, means with
// their intervals.
struct BlockSizeFigures {
  std::int64_t block_size = 0;
  MeanInterval waste;  // reserved, internal and overhead slots: a share of the pool, time-weighted
  MeanInterval prefix_hit;         // of the context wanted at admissions
  MeanInterval table_bytes;        // block-table entries, 4 bytes each, mean
  MeanInterval copied_bytes;       // copy-on-write, over the whole run
  MeanInterval output_per_s;       // tokens, or requests within the limits where there are limits
  MeanInterval s_per_token;        // end to end over output tokens, mean over requests
  MeanInterval requests_rejected;  // they can never fit
  MeanInterval requests_finished;  // the others
  // Percentiles over requests: to the first token, of the time per further token, to the last.
  MeanInterval ttft_p50_s;
  MeanInterval ttft_p99_s;
  MeanInterval tpot_p99_s;
  MeanInterval latency_p99_s;
  std::optional<MeanInterval> kernel_s = {};  // attention of a decode step, where it was measured
};

// How far a size may be from the best of all sizes and still count as good: one percentage point of
// a share, a hundredth of a rate or mean time, a tenth of a percentile, which rests on few
// requests.
inline constexpr double kGoodShare = 0.01;
inline constexpr double kGoodRatio = 0.01;
inline constexpr double kGoodPercentile = 0.1;

enum class Weight : std::uint8_t {
  kDecides,
  kDecidesOverSeeds,  // under one seed it is shown: a percentile of one run may be chance
  kIsShown,           // the other times have it in them
  kIsCompared,        // it grows or falls with the block size, and is no drawback
};

enum class Difference : std::uint8_t { kPoints, kRatio, kCount };

struct BlockSizeCriterion {
  std::optional<MeanInterval> (*figure)(const BlockSizeFigures&);
  double sign;  // 1 where less is better, -1 where more is
  Difference difference;
  double tolerance;
  Weight weight;
  const char* worse;  // "5.0 % " and this: "longer per token"
};

std::span<const BlockSizeCriterion> block_size_criteria();

// Whether the values differ by more than chance: under several seeds their intervals do not
// overlap.
bool is_told_apart(const MeanInterval& a, const MeanInterval& b);
// The same for the figures of one criterion. Counts differ if they are not equal: all sizes get the
// same requests under each seed.
bool is_told_apart(const BlockSizeCriterion& criterion, const MeanInterval& a,
                   const MeanInterval& b);

// "1.6 points of the pool more held empty", if `size` is further from `best` than is good.
std::optional<std::string> worse_text(const BlockSizeCriterion& criterion, const MeanInterval& size,
                                      const MeanInterval& best);

}  // namespace recto::experiments

#pragma once

// The criteria by which block sizes are compared.

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace recto::experiments {

template <typename Items, typename Holds>
Items filtered(const Items& items, Holds holds) {
  Items kept;
  std::ranges::copy_if(items, std::back_inserter(kept), holds);
  return kept;
}

// A figure of one run, or the mean over several seeds with the value under each, in their order.
struct SeedMean {
  double mean = 0;
  std::vector<double> by_seed = {};  // empty for one run
};

// One block size of one allocator, everything else being equal.
struct BlockSizeFigures {
  std::int64_t block_size = 0;
  SeedMean used;        // slots that hold tokens: a share of the pool, time-weighted
  SeedMean waste;       // reserved, internal and overhead slots: a share of the pool, time-weighted
  SeedMean prefix_hit;  // of the prompts, when first admitted
  SeedMean table_bytes;        // block-table entries, 4 bytes each, mean
  SeedMean copied_bytes;       // copy-on-write, over the whole run
  SeedMean output_per_s;       // tokens, or requests within the limits where there are limits
  SeedMean requests_rejected;  // requests that can never fit
  SeedMean requests_finished;  // all other requests
  // End to end over output tokens, mean over requests; nullopt if some seed served none.
  std::optional<SeedMean> s_per_token = {};
  // Percentiles over requests: to the first token, of the time per further token, to the last.
  std::optional<SeedMean> ttft_p50_s = {};
  std::optional<SeedMean> ttft_p99_s = {};
  std::optional<SeedMean> tpot_p99_s = {};
  std::optional<SeedMean> latency_p99_s = {};
  std::optional<SeedMean> kernel_s = {};  // attention of a decode step, where it was measured
};

// How far a size may be from the best of all sizes and still count as good: one percentage point of
// a share, a hundredth of a rate or mean time, a tenth of a percentile, which rests on few
// requests.
inline constexpr double kGoodShare = 0.01;
inline constexpr double kGoodRatio = 0.01;
inline constexpr double kGoodPercentile = 0.1;

// If a run holds less of the pool than this share with every size, empty slots hardly distinguish
// the sizes: the permitted difference is then a large part of all held slots.
inline constexpr double kIdleShare = 0.1;

// A remark on such a run; empty for a run that holds more.
std::string idle_remark(const std::vector<BlockSizeFigures>& sizes);

enum class Weight : std::uint8_t {
  kDecides,
  kDecidesOverSeeds,  // under one seed only shown, because a percentile of one run may be chance
  kIsShown,           // other times include it
  kIsCompared,        // grows or falls with the block size, and is no drawback
};

enum class Difference : std::uint8_t { kPoints, kRatio, kCount };

struct BlockSizeCriterion {
  const char* name;
  std::optional<SeedMean> (*figure)(const BlockSizeFigures&);
  double sign;  // 1 if less is better, -1 if more is better
  Difference difference;
  double tolerance;
  Weight weight;
  const char* worse;  // "5.0 % " and this: "longer per token"
};

std::span<const BlockSizeCriterion> block_size_criteria();

// Whether the values differ by more than chance: in the same direction under every seed. Seeds are
// compared one by one, because all sizes get the same requests under a seed.
bool is_told_apart(const SeedMean& a, const SeedMean& b);
// The same for the figures of one criterion. Counts of requests differ if they are not equal.
bool is_told_apart(const BlockSizeCriterion& criterion, const SeedMean& a, const SeedMean& b);

// "1.6 points of the pool more held empty", if `size` is further from `best` than is good.
std::optional<std::string> worse_text(const BlockSizeCriterion& criterion, const SeedMean& size,
                                      const SeedMean& best);

}  // namespace recto::experiments

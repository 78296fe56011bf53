#include "experiments/report/block_size_criteria.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "core/contract.h"
#include "experiments/support/numbers.h"

namespace recto::experiments {
namespace {

using Figures = BlockSizeFigures;

template <auto kMember>
std::optional<SeedMean> of(const Figures& figures) {
  return figures.*kMember;
}

constexpr double kLess = 1;
constexpr double kMore = -1;

constexpr BlockSizeCriterion kCriteria[] = {
    {"held empty", of<&Figures::waste>, kLess, Difference::kPoints, kGoodShare, Weight::kDecides,
     "of the pool more held empty"},
    {"prefix hits", of<&Figures::prefix_hit>, kMore, Difference::kPoints, kGoodShare,
     Weight::kDecides, "fewer of the prompt tokens found cached"},
    {"throughput", of<&Figures::output_per_s>, kMore, Difference::kRatio, kGoodRatio,
     Weight::kDecides, "less served per second"},
    {"time per token", of<&Figures::s_per_token>, kLess, Difference::kRatio, kGoodRatio,
     Weight::kDecides, "longer per token"},
    {"requests rejected", of<&Figures::requests_rejected>, kLess, Difference::kCount, 0,
     Weight::kDecides, "more requests rejected"},
    {"TTFT median", of<&Figures::ttft_p50_s>, kLess, Difference::kRatio, kGoodPercentile,
     Weight::kDecidesOverSeeds, "longer to the first token, median"},
    {"TTFT p99", of<&Figures::ttft_p99_s>, kLess, Difference::kRatio, kGoodPercentile,
     Weight::kDecidesOverSeeds, "longer to the first token, p99"},
    {"TPOT p99", of<&Figures::tpot_p99_s>, kLess, Difference::kRatio, kGoodPercentile,
     Weight::kDecidesOverSeeds, "longer per further token, p99"},
    {"end to end p99", of<&Figures::latency_p99_s>, kLess, Difference::kRatio, kGoodPercentile,
     Weight::kDecidesOverSeeds, "longer end to end, p99"},
    {"bytes copied on write", of<&Figures::copied_bytes>, kLess, Difference::kRatio, kGoodRatio,
     Weight::kIsShown, "more bytes copied on write"},
    {"attention kernels", of<&Figures::kernel_s>, kLess, Difference::kRatio, kGoodRatio,
     Weight::kIsShown, "longer in attention kernels"},
    {"block tables", of<&Figures::table_bytes>, kLess, Difference::kRatio, kGoodRatio,
     Weight::kIsCompared, "longer block tables"},
};

std::string amount(Difference difference, double size, double best) {
  switch (difference) {
    case Difference::kPoints:
      return fmt::format("{:.1f} points ", std::abs(size - best) * 100);
    case Difference::kCount:
      return count_text(std::abs(size - best)) + ' ';
    case Difference::kRatio:
      break;
  }
  return best > 0 ? percent(std::abs(size / best - 1)) + " % " : "";
}

}  // namespace

std::span<const BlockSizeCriterion> block_size_criteria() { return kCriteria; }

std::string idle_remark(const std::vector<BlockSizeFigures>& sizes) {
  double held = 0;
  for (const BlockSizeFigures& size : sizes) {
    held = std::max(held, size.used.mean + size.waste.mean);
  }
  if (held >= kIdleShare) return "";
  return fmt::format(
      "This run holds {} % of the pool at most, on average: too little to distinguish block sizes "
      "by the slots they hold empty.",
      percent(held));
}

bool is_told_apart(const SeedMean& a, const SeedMean& b) {
  if (a.by_seed.empty() || b.by_seed.empty()) return a.mean != b.mean;
  RECTO_CHECK_EQ(a.by_seed.size(), b.by_seed.size());
  for (std::size_t seed = 0; seed < a.by_seed.size(); ++seed) {
    if ((a.by_seed[seed] - b.by_seed[seed]) * (a.mean - b.mean) <= 0) return false;
  }
  return true;
}

bool is_told_apart(const BlockSizeCriterion& criterion, const SeedMean& a, const SeedMean& b) {
  if (criterion.difference == Difference::kCount) return a.mean != b.mean;
  return is_told_apart(a, b);
}

std::optional<std::string> worse_text(const BlockSizeCriterion& criterion, const SeedMean& size,
                                      const SeedMean& best) {
  const double worse_by = (size.mean - best.mean) * criterion.sign;
  const double scale = criterion.difference == Difference::kRatio ? std::abs(best.mean) : 1;
  if (worse_by <= criterion.tolerance * scale) return std::nullopt;
  return amount(criterion.difference, size.mean, best.mean) + criterion.worse;
}

}  // namespace recto::experiments

#include "cuda/bench/sample_statistics.h"

#include <algorithm>
#include <cstddef>

#include "core/contract.h"

namespace recto::bench {
namespace {

double quantile(const std::vector<double>& sorted, double share) {
  const double at = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  const double part = at - static_cast<double>(below);
  return sorted[below] * (1 - part) + sorted[above] * part;
}

}  // namespace

SampleStatistics statistics_of(std::vector<double> samples) {
  RECTO_CHECK(!samples.empty());
  std::ranges::sort(samples);
  return {quantile(samples, 0.5), quantile(samples, 0.1), quantile(samples, 0.9)};
}

}  // namespace recto::bench

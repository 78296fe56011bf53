#include "verify/laws/shifted_sinks.h"

#include <cmath>
#include <cstddef>
#include <utility>

namespace recto::verify {
namespace {

// The roundoff of one fp64 addition here, and of the shift that is added.
constexpr double kSumRoundoff = 0x1p-52;

}  // namespace

ShiftedSinks shift_sinks(const std::vector<float>& sinks, const std::vector<double>& shifts) {
  ShiftedSinks shifted{.sinks = sinks, .residual = std::vector<double>(shifts.size(), 0.0)};
  for (std::size_t h = 0; h < sinks.size(); ++h) {
    const double wanted = sinks[h] + shifts[h];
    shifted.sinks[h] = static_cast<float>(wanted);
    shifted.residual[h] = std::abs(shifted.sinks[h] - wanted) +
                          kSumRoundoff * (std::abs(sinks[h]) + std::abs(shifts[h]));
  }
  return shifted;
}

ShiftedExpectation expect_shifted(const reference::AttentionResult& base,
                                  reference::AttentionResult bound,
                                  const std::vector<double>& shifts,
                                  const std::vector<double>& residual) {
  ShiftedExpectation result{.expected = base, .bound = std::move(bound)};
  const auto heads = static_cast<std::size_t>(base.num_rows * base.num_heads);
  for (std::size_t i = 0; i < heads; ++i) {
    const std::size_t h = i % shifts.size();
    // The -inf of a row without keys stays as it is.
    if (!base.lse_ln.empty() && std::isfinite(base.lse_ln[i])) {
      result.expected.lse_ln[i] += shifts[h];
      result.bound.lse_ln[i] +=
          residual[h] + kSumRoundoff * (std::abs(base.lse_ln[i]) + std::abs(shifts[h]));
    }
    for (std::int64_t d = 0; d < base.head_dim; ++d) {
      const std::size_t at =
          i * static_cast<std::size_t>(base.head_dim) + static_cast<std::size_t>(d);
      result.bound.out[at] +=
          std::expm1(residual[h]) * (std::abs(base.out[at]) + result.bound.out[at]);
    }
  }
  return result;
}

}  // namespace recto::verify

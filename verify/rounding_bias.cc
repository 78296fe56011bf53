#include "verify/rounding_bias.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "reference/rounding.h"

namespace recto::verify {
namespace {

using reference::AttentionResult;
using reference::BoundedResult;

struct Mean {
  double sum = 0.0;
  std::int64_t count = 0;
};

// The spacing of the type's numbers at `value`; nothing in the subnormal range, or if `value` is
// exact in the type.
std::optional<double> ulp_at(double value, ElementType type) {
  if (!std::isfinite(value) || reference::round_to(value, type) == value) return std::nullopt;
  int exponent = 0;
  std::frexp(value, &exponent);
  const double ulp = std::ldexp(reference::unit_roundoff(type), exponent);
  return ulp > 2.0 * reference::underflow_error(type) ? std::optional(ulp) : std::nullopt;
}

void add_element(double seen, double exact, double bound, ElementType type, Mean& mean) {
  const std::optional<double> ulp = ulp_at(exact, type);
  if (!ulp || !std::isfinite(seen) || !(bound <= RoundingBias::kBoundUlpsMax * *ulp)) return;
  const double towards_zero = exact > 0 ? exact - seen : seen - exact;
  mean.sum += std::clamp(towards_zero / *ulp, -1.0, 1.0);
  ++mean.count;
}

}  // namespace

void RoundingBias::add(const PagedAttentionInputs& inputs, const AttentionResult& seen,
                       const BoundedResult& oracle) {
  const ElementType type = inputs.q.type;
  if (type == ElementType::kFp32) return;
  const std::int64_t kv_heads = inputs.kv.k.num_kv_heads;
  const std::int64_t group = inputs.q.num_heads / kv_heads;
  Sum& sum = sums_[type];
  for (std::int64_t s = 0; s < std::ssize(inputs.context_length); ++s) {
    const auto at = static_cast<std::size_t>(s);
    std::vector<Mean> means(static_cast<std::size_t>(kv_heads));
    for (std::int64_t row = inputs.query_start[at]; row < inputs.query_start[at + 1]; ++row) {
      for (std::int64_t head = 0; head < inputs.q.num_heads; ++head) {
        for (std::int64_t dim = 0; dim < seen.head_dim; ++dim)
          add_element(seen.out_at(row, head, dim), oracle.exact.out_at(row, head, dim),
                      oracle.probabilistic.out_at(row, head, dim), type,
                      means[static_cast<std::size_t>(head / group)]);
      }
    }
    for (const Mean& mean : means) {
      if (mean.count == 0) continue;
      sum.ulps += mean.sum / static_cast<double>(mean.count);
      ++sum.contexts;
    }
  }
}

std::optional<RoundingBias::Finding> RoundingBias::finding() const {
  for (const auto& [type, sum] : sums_) {
    if (sum.contexts == 0) continue;
    const auto contexts = static_cast<double>(sum.contexts);
    const double chance = std::sqrt(-2.0 * std::log(kFalseAlarm) / contexts);
    const double ulps = sum.ulps / contexts;
    if (ulps > std::max(chance, kLeastUlps))
      return Finding{.type = type, .ulps = ulps, .contexts = sum.contexts};
  }
  return std::nullopt;
}

}  // namespace recto::verify

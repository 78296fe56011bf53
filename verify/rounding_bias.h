#pragma once

// Detects whether a backend truncates its 16-bit outputs instead of rounding them to nearest. This
// is not a fault, since the bound has room for it (docs/numerics.md), but it is a signed error,
// which accumulates over layers and steps.

#include <cstdint>
#include <map>
#include <optional>

#include "core/element_type.h"
#include "reference/error_bound.h"

namespace recto::verify {

class RoundingBias {
 public:
  // Adds the results of one call and the oracle's results for it. Fp32 is ignored, as are elements
  // whose bound is wider than kBoundUlpsMax. V should be drawn from a continuum, so that exact
  // results lie at random positions between two numbers of the type.
  void add(const PagedAttentionInputs& inputs, const reference::AttentionResult& seen,
           const reference::BoundedResult& oracle);

  struct Finding {
    ElementType type = ElementType::kFp16;
    double ulps = 0.0;          // towards zero, on average
    std::int64_t contexts = 0;  // (context, KV head) pairs
  };

  // A bias too large to be chance. Each element contributes -1 to 1 ulp. Elements of the same
  // context and KV head share weights or values, so only their mean counts. Rounding to nearest
  // errs equally to both sides; the mean of N such means then exceeds t with a probability of at
  // most exp(-N t^2 / 2) (Hoeffding 1963), which must be less than kFalseAlarm. t is at least
  // kLeastUlps: sums that truncate err by less.
  std::optional<Finding> finding() const;

  static constexpr double kBoundUlpsMax = 4.0;
  static constexpr double kFalseAlarm = 1e-11;
  static constexpr double kLeastUlps = 0.25;

 private:
  struct Sum {
    double ulps = 0.0;
    std::int64_t contexts = 0;
  };
  std::map<ElementType, Sum> sums_;
};

}  // namespace recto::verify

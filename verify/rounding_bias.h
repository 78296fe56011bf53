#pragma once

// Whether a backend cuts its 16-bit outputs off where it could round them to nearest. That is no
// fault, as the bound has room for it (docs/numerics.md), but an error with a sign, which adds up
// over layers and steps.

#include <cstdint>
#include <map>
#include <optional>

#include "core/element_type.h"
#include "reference/error_bound.h"

namespace recto::verify {

class RoundingBias {
 public:
  // Results of one call, and the oracle's of it. Fp32 says nothing, nor do elements whose bound is
  // wider than kBoundUlpsMax; and V should be drawn from a continuum, so that where exact results
  // lie between two numbers of the type is a matter of chance.
  void add(const PagedAttentionInputs& inputs, const reference::AttentionResult& seen,
           const reference::BoundedResult& oracle);

  struct Finding {
    ElementType type = ElementType::kFp16;
    double ulps = 0.0;          // towards zero, on average
    std::int64_t contexts = 0;  // of a KV head each
  };

  // What is too far from 0 to be chance. An element counts from -1 to 1 ulp, and the elements of a
  // context and KV head, which share weights or values, as their mean alone. Rounding to nearest
  // errs to either side alike; the mean of N such means is then beyond t with a probability of at
  // most exp(-N t^2 / 2) (Hoeffding 1963), which is to be less than kFalseAlarm, and t at least
  // kLeastUlps: sums that truncate are off by less.
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

#pragma once

// For tests: rounding by search in the list of a format's numbers, which are computed from their
// fields. Nothing here shares a formula with rounding.h.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "verify/ptx/arithmetic/rounding.h"

namespace recto::ptx {

inline constexpr Rounding kRoundings[] = {Rounding::kNearestEven, Rounding::kNearestAway,
                                          Rounding::kZero, Rounding::kDown, Rounding::kUp};
// The roundings of arithmetic instructions.
inline constexpr Rounding kIeeeRoundings[] = {Rounding::kNearestEven, Rounding::kZero,
                                              Rounding::kDown, Rounding::kUp};

// The non-negative finite numbers of a format, by code, and the number that would follow.
class FormatNumbers {
 public:
  explicit FormatNumbers(const FloatFormat& format) : format_(format) {
    const int bias = (1 << (format.exponent_bits - 1)) - 1;
    const std::uint32_t fractions = std::uint32_t{1} << format.fraction_bits;
    for (std::uint32_t code = 0; code <= format.largest() + 1; ++code) {
      const int exponent = static_cast<int>(code / fractions);
      const double fraction = static_cast<double>(code % fractions) / fractions;
      values_.push_back(exponent == 0 ? std::ldexp(fraction, 1 - bias)
                                      : std::ldexp(1 + fraction, exponent - bias));
    }
  }

  std::uint32_t count() const { return static_cast<std::uint32_t>(values_.size()) - 1; }
  double value(std::uint32_t code) const { return values_[code]; }

  // x must not be NaN. `error` is the sign of what x lacks of the exact result.
  std::uint32_t rounded(double x, const FloatMode& mode, int error = 0) const {
    const std::uint32_t magnitude = rounded_magnitude(x, mode.rounding, error);
    const bool is_cut = magnitude == count() && (mode.satfinite || stays_finite(x, mode.rounding));
    return (is_cut ? magnitude - 1 : magnitude) | (std::signbit(x) ? format_.sign() : 0);
  }

 private:
  static bool stays_finite(double x, Rounding rounding) {
    return !std::isinf(x) &&
           (rounding == Rounding::kZero || rounding == (x < 0 ? Rounding::kUp : Rounding::kDown));
  }

  std::uint32_t rounded_magnitude(double signed_x, Rounding signed_rounding, int error) const {
    // The magnitude, and how it is rounded.
    const double x = std::abs(signed_x);
    Rounding rounding = signed_rounding;
    if (std::signbit(signed_x)) {
      error = -error;
      if (signed_rounding == Rounding::kDown) rounding = Rounding::kUp;
      if (signed_rounding == Rounding::kUp) rounding = Rounding::kDown;
    }
    if (x >= values_.back()) return count();
    const auto above = std::upper_bound(values_.begin(), values_.end(), x);
    const auto upper = static_cast<std::uint32_t>(above - values_.begin());
    const std::uint32_t lower = upper - 1;
    if (x == values_[lower] && error <= 0) {
      const bool is_cut = rounding == Rounding::kZero || rounding == Rounding::kDown;
      return error < 0 && is_cut ? lower - 1 : lower;
    }
    if (rounding == Rounding::kZero || rounding == Rounding::kDown) return lower;
    if (rounding == Rounding::kUp) return upper;
    const double to_lower = x - values_[lower];
    const double to_upper = values_[upper] - x;
    if (to_lower != to_upper) return to_lower < to_upper ? lower : upper;
    if (error != 0) return error > 0 ? upper : lower;
    return rounding == Rounding::kNearestAway || lower % 2 != 0 ? upper : lower;
  }

  FloatFormat format_;
  std::vector<double> values_;
};

}  // namespace recto::ptx

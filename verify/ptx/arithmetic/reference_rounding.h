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
// Those of arithmetic instructions.
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
  std::uint32_t rounded(double x, Rounding rounding, bool satfinite = false, int error = 0) const {
    const bool is_negative = std::signbit(x);
    const std::uint32_t magnitude =
        rounded_magnitude(std::abs(x), is_negative, rounding, is_negative ? -error : error);
    const bool is_over = magnitude == count();
    const std::uint32_t code =
        is_over && (satfinite || stays_finite(x, rounding)) ? magnitude - 1 : magnitude;
    return code | (is_negative ? format_.sign() : 0);
  }

 private:
  static bool stays_finite(double x, Rounding rounding) {
    if (std::isinf(x)) return false;
    return rounding == Rounding::kZero || rounding == (x < 0 ? Rounding::kUp : Rounding::kDown);
  }

  std::uint32_t rounded_magnitude(double x, bool is_negative, Rounding rounding, int error) const {
    if (x >= values_.back()) return count();
    const auto above = std::upper_bound(values_.begin(), values_.end(), x);
    const auto upper = static_cast<std::uint32_t>(above - values_.begin());
    const std::uint32_t lower = upper - 1;
    if (x == values_[lower] && error == 0) return lower;
    if (x == values_[lower] && error < 0) return rounding_below(lower, is_negative, rounding);
    switch (rounding) {
      case Rounding::kZero:
        return lower;
      case Rounding::kDown:
        return is_negative ? upper : lower;
      case Rounding::kUp:
        return is_negative ? lower : upper;
      case Rounding::kNearestEven:
      case Rounding::kNearestAway:
        break;
    }
    const double to_lower = x - values_[lower];
    const double to_upper = values_[upper] - x;
    if (to_lower < to_upper) return lower;
    if (to_lower > to_upper || error > 0) return upper;
    if (error < 0) return lower;
    if (rounding == Rounding::kNearestAway) return upper;
    return lower % 2 == 0 ? lower : upper;
  }

  // Of a number just below values_[code].
  static std::uint32_t rounding_below(std::uint32_t code, bool is_negative, Rounding rounding) {
    const bool is_away = rounding == Rounding::kNearestEven || rounding == Rounding::kNearestAway ||
                         rounding == (is_negative ? Rounding::kDown : Rounding::kUp);
    return is_away ? code : code - 1;
  }

  FloatFormat format_;
  std::vector<double> values_;
};

}  // namespace recto::ptx

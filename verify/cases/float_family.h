#pragma once

// The numbers of generated tensors come from families. Each family exposes a different weakness of
// kernels, except two plain ones that counterexamples shrink to. Every value is exact in the
// element type that it is drawn for, and the bits do not depend on the machine: no std::log, no
// std::cos.

#include <array>
#include <cstdint>
#include <ostream>
#include <span>

#include "core/element_type.h"
#include "core/random_stream.h"

namespace recto::verify {

// Plainest first. Ranges [a, b) are before rounding to the element type:
enum class FloatFamily : std::uint8_t {
  kOnes,
  kSmallIntegers,     // -4 ... 4
  kUniform,           // [-1, 1)
  kNormal,            // mean 0, variance 1, within +-kNormalLimit
  kHeavyTail,         // Cauchy, within +-largest
  kLargeOffset,       // [7/8, 9/8) * largest / 2: differences are small against the common part
  kAlternatingSigns,  // [1/2, 1), its sign changing from dim to dim and from token to token
  kDenormals,         // half subnormals, zeros and the smallest normal, half uniform
  kExactTies,         // +-1/2, +-1; tokens repeat each other, so that scores tie
  kHugeValues,        // V only: +-[1/2, 1) * huge_magnitude(type)
  kDominatingKey,     // K only: uniform, but one key per head exceeds the others, see case_spec.h
  kOutlierDim,        // uniform, but the first dim is kOutlier: in q and k, it dominates all scores
  kPeakedEnds,        // K only: uniform, but one key per head, first or last, exceeds the others,
                      // likewise
};

// A power of two that every type has. In both q and k it contributes 65536 before the scale, far
// more than the other dims: all scores of a row lie near one number.
inline constexpr double kOutlier = 256.0;

inline constexpr std::array<FloatFamily, 13> kFloatFamilies = {FloatFamily::kOnes,
                                                               FloatFamily::kSmallIntegers,
                                                               FloatFamily::kUniform,
                                                               FloatFamily::kNormal,
                                                               FloatFamily::kHeavyTail,
                                                               FloatFamily::kLargeOffset,
                                                               FloatFamily::kAlternatingSigns,
                                                               FloatFamily::kDenormals,
                                                               FloatFamily::kExactTies,
                                                               FloatFamily::kHugeValues,
                                                               FloatFamily::kDominatingKey,
                                                               FloatFamily::kOutlierDim,
                                                               FloatFamily::kPeakedEnds};

constexpr const char* float_family_name(FloatFamily family) {
  constexpr const char* kNames[] = {
      "ones",           "small-integers",    "uniform",    "normal",     "heavy-tail",
      "large-offset",   "alternating-signs", "denormals",  "exact-ties", "huge-values",
      "dominating-key", "outlier-dim",       "peaked-ends"};
  return kNames[static_cast<int>(family)];
}

inline std::ostream& operator<<(std::ostream& out, FloatFamily family) {
  return out << float_family_name(family);
}

inline constexpr double kNormalLimit = 8.0;  // 1 in 10^15 is beyond it: redrawn

// The distribution of a tensor's numbers. `largest` is a power of two, at least 16, and bounds the
// families with a wide range; it must be small enough for any product and sum of the domain.
struct FloatSource {
  FloatFamily family = FloatFamily::kOnes;
  ElementType type = ElementType::kFp32;
  double largest = 16.0;
};

// About 1e30 for types with fp32's range, else as large as outputs of q's type and scales of 2
// allow. The sum of 2^24 values (the longest context) stays below fp32's overflow, where the domain
// ends.
double huge_magnitude(ElementType type);

// No value of the source is larger in magnitude.
double largest_magnitude(const FloatSource& source);
// The same for all dims but the first.
double largest_behind_first(const FloatSource& source);

// Fills one head of one token: [head_dim]. A longer row begins with the same values.
void fill_row(const FloatSource& source, std::int64_t token, RandomStream& stream,
              std::span<float> row);

// A normal number with mean 0 and variance 1, unrounded and unlimited. Exact up to the 2^-53 grid
// of its uniforms: Karney, "Sampling exactly from the normal distribution", ACM TOMS 42(1), 2016,
// algorithm N.
double draw_normal(RandomStream& stream);

}  // namespace recto::verify

#pragma once

// Rounding to the storage formats, to nearest with ties to even, in integer arithmetic on the bits
// of a double: no compiler's or library's conversion is trusted.
//
//   fp32, fp16, bf16, e5m2   IEEE: what lies beyond the largest finite number becomes infinite
//   e4m3                     has no infinity
//
// `Overflow` says what becomes of a value too large. kSaturate gives the largest finite number, for
// infinities too; kIeee gives infinity (e4m3: NaN). NaN stays NaN, of the same sign, and becomes
// the canonical quiet one; zero keeps its sign.

#include <cstdint>
#include <span>

#include "core/element_type.h"

namespace recto::reference {

enum class Overflow { kIeee, kSaturate };

// The code of the value of `type` nearest to `value`. Rounds once, from fp64.
std::uint32_t encode(double value, ElementType type, Overflow overflow = Overflow::kIeee);

// The value of a code, exact.
double decode(std::uint32_t code, ElementType type);

// decode() of values.size() codes that lie side by side, at any alignment; the way to read much.
void decode_row(const void* codes, ElementType type, std::span<double> values);

// decode(encode(value)).
double round_to(double value, ElementType type, Overflow overflow = Overflow::kIeee);

// What an fp8 cache stores for x (design: y = float(x) / scale, to nearest even, saturated; NaN
// stays NaN). The quotient is rounded to fp32 first, as kernels do.
std::uint32_t encode_fp8(float x, float scale, ElementType type);

// Unit roundoff of a format: 2^-24 for fp32 and so on; and half its smallest subnormal, the
// largest absolute error of rounding a tiny value.
double unit_roundoff(ElementType type);
double underflow_error(ElementType type);
double largest_finite(ElementType type);
// The smallest number that rounds to infinity, for formats that have one.
double overflow_threshold(ElementType type);

}  // namespace recto::reference

#pragma once

// Rounding to the storage formats, to nearest with ties to even. It is integer arithmetic on the
// bits of a double and relies on no conversion of the compiler or of a library.
//
//   fp32, fp16, bf16, e5m2   IEEE: values that round beyond the largest finite number become
//   infinite e4m3                     has no infinity
//
// `Overflow` selects the result for a value that is too large. kSaturate gives the largest finite
// number, for infinities too; kIeee gives infinity (e4m3: NaN). NaN becomes the canonical quiet NaN
// of the same sign; zero keeps its sign.

#include <cstdint>
#include <span>

#include "core/element_type.h"

namespace recto::reference {

enum class Overflow { kIeee, kSaturate };

// The code of the value of `type` nearest to `value`. Rounds once, from fp64.
std::uint32_t encode(double value, ElementType type, Overflow overflow = Overflow::kIeee);

// The value of a code, exact.
double decode(std::uint32_t code, ElementType type);

// decode() of values.size() adjacent codes, at any alignment; the fast way to read many codes.
void decode_row(const void* codes, ElementType type, std::span<double> values);

// decode(encode(value)).
double round_to(double value, ElementType type, Overflow overflow = Overflow::kIeee);

// The code that an fp8 cache stores for x: y = float(x) / scale, rounded to nearest even and
// saturated; NaN stays NaN. The quotient is rounded to fp32 first, as kernels do.
std::uint32_t encode_fp8(float x, float scale, ElementType type);

// unit_roundoff: 2^-24 for fp32, and so on. underflow_error: half the format's smallest subnormal,
// which is the largest absolute error of rounding a tiny value.
double unit_roundoff(ElementType type);
double underflow_error(ElementType type);
double largest_finite(ElementType type);
// The smallest number that rounds to infinity, for formats that have one.
double overflow_threshold(ElementType type);

}  // namespace recto::reference

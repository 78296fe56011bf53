#pragma once

// Models the fp32 arithmetic of kernels where it differs from the host's: flushed subnormals, and
// functions with the largest errors that their documentation allows.

#include <cmath>

namespace recto::reference {

// The base that scores are exponentiated with. In base 2, scores, sinks and maxima are first
// multiplied by log2(e) and rounded, as in kernels that use a fast exp2.
enum class ExponentialBase { kE, kTwo };

// kFlushed: inputs below 2^-126 in magnitude are read as 0, and results below it become 0 of the
// same sign, as with nvcc's -ftz=true.
enum class Subnormals { kKept, kFlushed };

// kLibrary: the host's math library. kFast: functions with the full documented error of CUDA's fast
// functions; a hash of the argument's bits selects the direction.
enum class MathFunctions { kLibrary, kFast };

struct Fp32Arithmetic {
  ExponentialBase base = ExponentialBase::kE;
  Subnormals subnormals = Subnormals::kKept;
  MathFunctions functions = MathFunctions::kLibrary;

  // Applied to every input and every result.
  float flushed(float value) const {
    if (subnormals == Subnormals::kKept || !(std::abs(value) < 0x1p-126F)) return value;
    return std::copysign(0.0F, value);
  }

  float exp(float x) const;   // fast: 2 + floor(1.173 |x|) ulp, flushed always; exp(0) is 1
  float log(float x) const;   // fast: 2^-21.41 in [0.5, 2], else 3 ulp
  float tanh(float x) const;  // fast: 2^-11, relative

  // base^x, and its inverse. In base 2, fast: 2 ulp, flushed always; 2^-22 in [0.5, 2], else 2 ulp.
  float power(float x) const;
  float logarithm(float x) const;
};

}  // namespace recto::reference

#pragma once

// fp32 arithmetic of kernels where it is not the machine's: flushed subnormals, and functions that
// err by as much as their documents allow.

#include <cmath>

namespace recto::reference {

// What scores are exponentiated with. In base 2 scores, sinks and maxima are multiplied by log2(e)
// first, and rounded, as in kernels that have a fast exp2.
enum class ExponentialBase { kE, kTwo };

// Flushed: inputs below 2^-126 are read as 0 and results below it become 0 of their sign, as with
// nvcc's -ftz=true.
enum class Subnormals { kKept, kFlushed };

// The machine's library, or functions that are off by all that CUDA's fast ones are documented to
// be, to the side that a hash of the argument's bits says.
enum class MathFunctions { kLibrary, kFast };

struct Fp32Arithmetic {
  ExponentialBase base = ExponentialBase::kE;
  Subnormals subnormals = Subnormals::kKept;
  MathFunctions functions = MathFunctions::kLibrary;

  // Of every input and every result.
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

#pragma once

// The functions that CUDA computes approximately, each with its documented error.

#include <cstdint>
#include <span>

namespace recto::simt::device {

enum class ApproximateFunction : std::uint8_t {
  kExp,
  kExp2,
  kExp10,
  kExpm1,
  kLog,
  kLog2,
  kLog10,
  kLog1p,
  kSin,
  kCos,
  kTan,
  kTanh,
  kErf,
  kRsqrt,
  kFastExp,  // __expf, and so on
  kFastExp10,
  kFastLog,
  kFastLog2,
  kFastLog10,
  kFastSin,
  kFastCos,
  kFastTanh,
};

// Distances from the correctly rounded result.
struct DocumentedError {
  ApproximateFunction function;
  const char* name;
  double (*exact)(double x);
  double ulps = 0;
  double ulps_per_argument = 0;  // floor(this * |x|) more
  double relative = 0;
  // For arguments from absolute_from to absolute_to, this replaces all the above.
  double absolute = 0;
  double absolute_from = 0;
  double absolute_to = 0;
};

// One row per function.
std::span<const DocumentedError> documented_errors();

// The largest allowed distance of a result for x from the correctly rounded one, `rounded`.
double error_allowed(const DocumentedError& row, double x, float rounded);

// A result within that error, chosen by the running launch's arithmetic. Special cases (exp(0) = 1,
// log(1) = 0, tanh(0) = 0, infinities, NaN) are exact. Subnormals are kept, as without -ftz=true.
float approximate(ApproximateFunction function, float x);

float approximate_power(float x, float y);     // powf
float approximate_quotient(float x, float y);  // __fdividef

}  // namespace recto::simt::device

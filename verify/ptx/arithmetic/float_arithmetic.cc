#include "verify/ptx/arithmetic/float_arithmetic.h"

#include <cfenv>
#include <cmath>

namespace recto::ptx {
namespace {

int host_mode(Rounding rounding) {
  switch (rounding) {
    case Rounding::kZero:
      return FE_TOWARDZERO;
    case Rounding::kDown:
      return FE_DOWNWARD;
    case Rounding::kUp:
      return FE_UPWARD;
    case Rounding::kNearestEven:
    case Rounding::kNearestAway:
      return FE_TONEAREST;
  }
  return FE_TONEAREST;
}

// The compiler moves nothing across the change of mode: the operands and the result are volatile.
double evaluated(DoubleOperation operation, const volatile double (&x)[3]) {
  switch (operation) {
    case DoubleOperation::kAdd:
      return x[0] + x[1];
    case DoubleOperation::kMul:
      return x[0] * x[1];
    case DoubleOperation::kFma:
      return std::fma(x[0], x[1], x[2]);
    case DoubleOperation::kDiv:
      return x[0] / x[1];
    case DoubleOperation::kSqrt:
      return std::sqrt(x[0]);
  }
  return 0;
}

}  // namespace

double directed(DoubleOperation operation, double a, double b, double c, Rounding rounding) {
  const volatile double operands[] = {a, b, c};
  const int before = std::fegetround();
  std::fesetround(host_mode(rounding));
  const volatile double result = evaluated(operation, operands);
  std::fesetround(before);
  return result;
}

}  // namespace recto::ptx

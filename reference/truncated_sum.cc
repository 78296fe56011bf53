#include "reference/truncated_sum.h"

#include <algorithm>
#include <cmath>

namespace recto::reference {
namespace {

// Towards zero, to a multiple of 2^(exponent - 24) where |value| < 2^exponent.
double cut(double value, int exponent) {
  return std::ldexp(std::trunc(std::ldexp(value, 24 - exponent)), exponent - 24);
}

}  // namespace

float truncated_sum(float accumulator, std::span<const double> products) {
  double largest = std::abs(static_cast<double>(accumulator));
  double plain_sum = accumulator;
  for (const double product : products) {
    largest = std::max(largest, std::abs(product));
    plain_sum += product;
  }
  if (largest == 0 || !std::isfinite(plain_sum)) return static_cast<float>(plain_sum);
  int exponent = 0;
  std::frexp(largest, &exponent);
  double sum = cut(accumulator, exponent);
  for (const double product : products) sum += cut(product, exponent);
  if (sum == 0) return 0.0F;
  std::frexp(sum, &exponent);
  // Subnormal results keep fewer bits.
  return static_cast<float>(cut(sum, std::max(exponent, -125)));
}

}  // namespace recto::reference

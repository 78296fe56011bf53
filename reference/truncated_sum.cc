#include "reference/truncated_sum.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace recto::reference {
namespace {

// Truncates values below 2^(exponent + 24) towards zero, to multiples of 2^(exponent - 24).
class Cut {
 public:
  explicit Cut(int exponent)
      : unit_(std::ldexp(1.0, exponent - 24)), units_per_one_(std::ldexp(1.0, 24 - exponent)) {}

  // Exact except for the truncation: the factors are powers of two. (A conversion to an integer is
  // several times as fast as std::trunc, which is a call.)
  double operator()(double value) const {
    return static_cast<double>(static_cast<std::int64_t>(value * units_per_one_)) * unit_;
  }

 private:
  double unit_;
  double units_per_one_;
};

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
  const Cut aligned(exponent);
  double sum = aligned(accumulator);
  for (const double product : products) sum += aligned(product);
  if (sum == 0) return 0.0F;
  std::frexp(sum, &exponent);
  // Subnormal results keep fewer bits, and zeros their sign.
  return static_cast<float>(std::copysign(Cut(std::max(exponent, -125))(sum), sum));
}

}  // namespace recto::reference

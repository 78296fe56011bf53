#include "verify/simt/dialect/matrix_product.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace recto::simt {
namespace {

constexpr std::uint32_t kCanonicalNan = 0x7fffffff;
constexpr int kFractionBits = 23;

// value = significand * 2^(exponent - 23), with a significand in [2^23, 2^24), or 0.
struct Scaled {
  std::int64_t significand = 0;
  int exponent = 0;
};

Scaled scaled(float value) {
  if (value == 0) return {};
  int exponent = 0;
  const float fraction = std::frexp(value, &exponent);
  return {static_cast<std::int64_t>(fraction * 0x1p24F), exponent - 1};
}

// Towards zero.
std::int64_t shifted(std::int64_t value, int left) {
  if (value == 0) return 0;  // whose exponent says nothing
  if (left >= 0) return value << left;
  const std::int64_t magnitude = left > -63 ? std::abs(value) >> -left : 0;
  return value < 0 ? -magnitude : magnitude;
}

// units * 2^exponent, cut off to fp32.
float cut_to_float(std::int64_t units, int exponent) {
  if (units == 0) return 0;
  const auto magnitude = static_cast<std::uint64_t>(std::abs(units));
  const int bits = static_cast<int>(std::bit_width(magnitude));
  // Subnormals keep fewer.
  const int dropped = std::max({bits - 24, -149 - exponent, 0});
  const std::uint64_t kept = dropped < 64 ? magnitude >> dropped : 0;
  const float result = std::ldexp(static_cast<float>(kept), exponent + dropped);
  return units < 0 ? -result : result;
}

float plain_sum(float sum, const float* a, const float* b, int count) {
  double plain = sum;
  for (int k = 0; k < count; ++k) plain += static_cast<double>(a[k]) * static_cast<double>(b[k]);
  return static_cast<float>(plain);
}

// The fastest of these is taken that the machine has; their results are the same.
template <int kDepth>
[[gnu::always_inline]] inline void add_products(MatrixProduct& product) {
  for (int row = 0; row < kMatrixRows; ++row) {
    for (int k = 0; k < kDepth; ++k) {
      for (int column = 0; column < kMatrixColumns; ++column) {
        product.sum[row][column] =
            __builtin_fmaf(product.a[row][k], product.b[k][column], product.sum[row][column]);
      }
    }
  }
}

[[gnu::always_inline]] inline void add_products_of(MatrixProduct& product) {
  product.depth == kMatrixDepthMax ? add_products<16>(product) : add_products<8>(product);
}

#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) void add_nearest_with_fma(MatrixProduct& product) {
  add_products_of(product);
}
#endif

void add_nearest(MatrixProduct& product) {
#if defined(__x86_64__)
  static const bool kHasFma = __builtin_cpu_supports("fma") && __builtin_cpu_supports("avx2");
  if (kHasFma) return add_nearest_with_fma(product);
#endif
  add_products_of(product);
}

void add_truncated(MatrixProduct& product, const Arithmetic& arithmetic) {
  const int step = static_cast<int>(arithmetic.products_per_step);
  for (int column = 0; column < kMatrixColumns; ++column) {
    float b[kMatrixDepthMax];
    for (int k = 0; k < product.depth; ++k) b[k] = product.b[k][column];
    for (int row = 0; row < kMatrixRows; ++row) {
      float& sum = product.sum[row][column];
      for (int k = 0; k < product.depth; k += step) {
        sum = truncated_sum(sum, product.a[row] + k, b + k, std::min(step, product.depth - k),
                            arithmetic.extra_bits);
      }
    }
  }
}

}  // namespace

float truncated_sum(float sum, const float* a, const float* b, int count, unsigned extra_bits) {
  constexpr int kNone = std::numeric_limits<int>::min();
  const float plain = plain_sum(sum, a, b, count);
  const bool has_infinity = std::any_of(a, a + count, [](float x) { return !std::isfinite(x); }) ||
                            std::any_of(b, b + count, [](float x) { return !std::isfinite(x); }) ||
                            !std::isfinite(sum);
  if (has_infinity) return plain;
  Scaled products[kMatrixDepthMax];
  const Scaled accumulator = scaled(sum);
  int largest = accumulator.significand == 0 ? kNone : accumulator.exponent;
  for (int k = 0; k < count; ++k) {
    const Scaled left = scaled(a[k]);
    const Scaled right = scaled(b[k]);
    products[k] = {left.significand * right.significand, left.exponent + right.exponent};
    if (products[k].significand != 0) largest = std::max(largest, products[k].exponent);
  }
  if (largest == kNone) return plain;
  const int unit = largest - kFractionBits - static_cast<int>(extra_bits);
  std::int64_t units =
      shifted(accumulator.significand, accumulator.exponent - kFractionBits - unit);
  for (int k = 0; k < count; ++k) {
    units += shifted(products[k].significand, products[k].exponent - 2 * kFractionBits - unit);
  }
  return cut_to_float(units, unit);
}

void multiply_accumulate(MatrixProduct& product, const Arithmetic& arithmetic) {
  if (arithmetic.matrix_sum == MatrixSum::kTruncated) {
    add_truncated(product, arithmetic);
  } else {
    add_nearest(product);
  }
  for (auto& row : product.sum) {
    for (float& sum : row) {
      if (std::isnan(sum)) sum = std::bit_cast<float>(kCanonicalNan);
    }
  }
}

}  // namespace recto::simt

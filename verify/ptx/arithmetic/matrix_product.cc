#include "verify/ptx/arithmetic/matrix_product.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "core/contract.h"
#include "verify/ptx/arithmetic/rounding.h"

namespace recto::ptx {
namespace {

constexpr int kFractionBits = 23;
// The exponent of zero: never the largest, nor near it.
constexpr int kNoExponent = -100000;

void add_nearest_portably(const MatrixProduct& product) {
  for (int row = 0; row < product.rows; ++row) {
    for (int column = 0; column < product.columns; ++column) {
      float& sum = product.sums[row * product.columns + column];
      for (int k = 0; k < product.depth; ++k) {
        sum = __builtin_fmaf(product.a[row * product.depth + k],
                             product.b[k * product.columns + column], sum);
      }
      sum = canonical(sum);
    }
  }
}

#if defined(__x86_64__)
// The same, with eight rows of eight sums side by side, so that their chains overlap.
__attribute__((target("avx2,fma"))) void add_nearest_with_fma(const MatrixProduct& product) {
  const int columns = product.columns;
  for (int row = 0; row < product.rows; row += kRowBlock) {
    const float* a = product.a + row * product.depth;
    for (int column = 0; column < columns; column += kColumnBlock) {
      float* to = product.sums + row * columns + column;
      __m256 sums[kRowBlock];
      for (int r = 0; r < kRowBlock; ++r) sums[r] = _mm256_loadu_ps(to + r * columns);
      for (int k = 0; k < product.depth; ++k) {
        const __m256 b = _mm256_loadu_ps(product.b + k * columns + column);
#pragma GCC unroll 8
        for (int r = 0; r < kRowBlock; ++r) {
          sums[r] = _mm256_fmadd_ps(_mm256_set1_ps(a[r * product.depth + k]), b, sums[r]);
        }
      }
      const __m256 nan = _mm256_set1_ps(float_of(kNan32));
      for (int r = 0; r < kRowBlock; ++r) {
        const __m256 is_nan = _mm256_cmp_ps(sums[r], sums[r], _CMP_UNORD_Q);
        _mm256_storeu_ps(to + r * columns, _mm256_blendv_ps(sums[r], nan, is_nan));
      }
    }
  }
}
#endif

void add_nearest(const MatrixProduct& product) {
#if defined(__x86_64__)
  static const bool kHasFma = __builtin_cpu_supports("fma") && __builtin_cpu_supports("avx2");
  if (kHasFma) return add_nearest_with_fma(product);
#endif
  add_nearest_portably(product);
}

// value = significand * 2^(exponent - 23), with a magnitude in [2^23, 2^24), or 0.
struct Scaled {
  std::int64_t significand = 0;
  int exponent = kNoExponent;
};

// Infinities and NaN count as 0: where they take part, the sum is replaced.
Scaled scaled(float value) {
  const std::uint32_t bits = bits_of(value);
  const std::uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude == 0 || magnitude >= 0x7f800000) return {};
  const auto exponent_field = static_cast<int>(magnitude >> kFractionBits);
  const std::uint32_t fraction = magnitude & 0x7fffff;
  // Subnormals are shifted until they have a leading one.
  const int shift = exponent_field > 0 ? 0 : std::countl_zero(fraction) - 8;
  const std::int64_t significand = exponent_field > 0 ? fraction | 0x800000 : fraction << shift;
  return {(bits >> 31) != 0 ? -significand : significand,
          std::max(exponent_field, 1) - 127 - shift};
}

// value * 2^shift, truncated towards zero.
std::int64_t shifted(std::int64_t value, int shift) {
  if (shift >= 0) return value << shift;
  const std::int64_t sign = value >> 63;
  const std::int64_t magnitude = (value ^ sign) - sign;
  return ((magnitude >> std::min(-shift, 63)) ^ sign) - sign;
}

// units * 2^exponent, truncated to fp32.
float cut_to_float(std::int64_t units, int exponent) {
  if (units == 0) return 0;
  const auto magnitude = static_cast<std::uint64_t>(std::abs(units));
  // Subnormals keep fewer bits.
  const int dropped =
      std::max({static_cast<int>(std::bit_width(magnitude)) - 24, -149 - exponent, 0});
  const std::uint64_t kept = dropped < 64 ? magnitude >> dropped : 0;
  // Exact, or infinite.
  const double result = std::ldexp(static_cast<double>(kept), exponent + dropped);
  return static_cast<float>(units < 0 ? -result : result);
}

// A product of two factors has 2 * 12 - 1 bits, and 2 * 23 - 2 * 12 + 2 fraction bits.
constexpr int kFactorSpareBits = 12;
constexpr int kProductFractionBits = 2 * (kFractionBits - kFactorSpareBits);

// The factors of a product, decomposed once.
class TruncatedProduct {
 public:
  TruncatedProduct(const MatrixProduct& product, const SumModel& model)
      : product_(product), model_(model) {
    a_.reserve(static_cast<std::size_t>(product.rows * product.depth));
    b_.reserve(static_cast<std::size_t>(product.columns * product.depth));
    for (int i = 0; i < product.rows * product.depth; ++i) a_.push_back(factor(product.a[i]));
    for (int i = 0; i < product.columns * product.depth; ++i) b_.push_back(factor(product.b[i]));
  }

  float sum(int row, int column) const {
    float total = product_.sums[row * product_.columns + column];
    for (int k = 0; k < product_.depth; k += model_.products_per_step) {
      total = step(total, row, column, k);
    }
    return total;
  }

 private:
  static Scaled factor(float value) {
    const Scaled whole = scaled(value);
    return {shifted(whole.significand, -kFactorSpareBits), whole.exponent};
  }

  // The products from k = begin on.
  float step(float before, int row, int column, int begin) const {
    const int count = std::min(model_.products_per_step, product_.depth - begin);
    const Scaled* a = a_.data() + row * product_.depth + begin;
    const Scaled* b = b_.data() + begin * product_.columns + column;
    const Scaled accumulator = scaled(before);
    int largest = accumulator.exponent;
    for (int k = 0; k < count; ++k) {
      largest = std::max(largest, a[k].exponent + b[k * product_.columns].exponent);
    }
    // Units of 2^(largest - fraction_bits).
    const int fraction_bits = model_.fraction_bits;
    std::int64_t units = shifted(accumulator.significand,
                                 accumulator.exponent - largest + fraction_bits - kFractionBits);
    for (int k = 0; k < count; ++k) {
      const Scaled& other = b[k * product_.columns];
      units +=
          shifted(a[k].significand * other.significand,
                  a[k].exponent + other.exponent - largest + fraction_bits - kProductFractionBits);
    }
    return cut_to_float(units, largest - fraction_bits);
  }

  const MatrixProduct& product_;
  const SumModel& model_;
  std::vector<Scaled> a_;
  std::vector<Scaled> b_;
};

// The sum in fp64, which is infinite or NaN if any order of summation gives that.
double plain_sum(const MatrixProduct& product, int row, int column) {
  double sum = product.sums[row * product.columns + column];
  for (int k = 0; k < product.depth; ++k) {
    sum += static_cast<double>(product.a[row * product.depth + k]) *
           static_cast<double>(product.b[k * product.columns + column]);
  }
  return sum;
}

void add_truncated(const MatrixProduct& product, const SumModel& model) {
  const TruncatedProduct truncated(product, model);
  for (int row = 0; row < product.rows; ++row) {
    for (int column = 0; column < product.columns; ++column) {
      const double plain = plain_sum(product, row, column);
      product.sums[row * product.columns + column] =
          std::isfinite(plain) ? truncated.sum(row, column) : canonical(static_cast<float>(plain));
    }
  }
}

}  // namespace

void multiply_accumulate(const MatrixProduct& product, const SumModel& model) {
  RECTO_CHECK(product.columns % kColumnBlock == 0);
  RECTO_CHECK(product.rows % kRowBlock == 0);
  if (model.sum == MatrixSum::kNearest) return add_nearest(product);
  RECTO_CHECK(model.products_per_step > 0);
  RECTO_CHECK(model.fraction_bits >= 0 && model.fraction_bits <= 30);
  add_truncated(product, model);
}

}  // namespace recto::ptx

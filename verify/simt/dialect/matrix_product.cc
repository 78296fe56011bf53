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
// The exponent of zero: never the largest, nor near it.
constexpr int kNoExponent = -100000;

// value = sign * significand * 2^(exponent - 23), with a significand in [2^23, 2^24), or 0.
struct Scaled {
  std::int64_t significand = 0;
  std::int64_t sign = 0;  // 0, or all ones: (x ^ sign) - sign applies it
  int exponent = kNoExponent;
};

Scaled scaled(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude == 0) return {};
  const auto field = static_cast<int>(magnitude >> kFractionBits);
  const std::uint32_t fraction = magnitude & 0x7fffff;
  // Subnormals are shifted until they have a leading one.
  const int shift = field > 0 ? 0 : std::countl_zero(fraction) - 8;
  const std::uint32_t significand = field > 0 ? fraction | 0x800000 : fraction << shift;
  return {significand, (bits >> 31) != 0 ? -1 : 0, std::max(field, 1) - 127 - shift};
}

// 2^exponent, which must be a normal fp64 number.
double power_of_two(int exponent) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52);
}

// units * 2^exponent, truncated to fp32.
float cut_to_float(std::int64_t units, int exponent) {
  if (units == 0) return 0;
  const auto magnitude = static_cast<std::uint64_t>(std::abs(units));
  const int bits = static_cast<int>(std::bit_width(magnitude));
  // Subnormals keep fewer bits.
  const int dropped = std::max({bits - 24, -149 - exponent, 0});
  const std::uint64_t kept = dropped < 64 ? magnitude >> dropped : 0;
  // Exact, or infinite.
  const double result = static_cast<double>(kept) * power_of_two(exponent + dropped);
  return static_cast<float>(units < 0 ? -result : result);
}

// The fastest version that the machine supports is used; the results are the same.
template <int kDepth>
[[gnu::always_inline]] inline void add_products(MatrixProduct& product) {
  for (int row = 0; row < kMatrixRows; ++row) {
    float sums[kMatrixColumns];
    for (int column = 0; column < kMatrixColumns; ++column) sums[column] = product.sum[row][column];
    for (int k = 0; k < kDepth; ++k) {
      const float a = product.a[row][k];
      for (int column = 0; column < kMatrixColumns; ++column) {
        sums[column] = __builtin_fmaf(a, product.b[k][column], sums[column]);
      }
    }
    for (int column = 0; column < kMatrixColumns; ++column) product.sum[row][column] = sums[column];
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

// The factors of a product, decomposed once.
struct ScaledFactors {
  Scaled a[kMatrixRows][kMatrixDepthMax];
  Scaled b[kMatrixDepthMax][kMatrixColumns];
};

// Products of 16-bit numbers have 22 bits: 24-bit significands have 12 bits to spare, each.
constexpr int kSpareBits = 12;

// One step for a row of sums: the products with k from `begin` to `end`.
class TruncatedStep {
 public:
  TruncatedStep(int begin, int end, unsigned extra_bits)
      : begin_(begin), end_(end), extra_bits_(static_cast<int>(extra_bits)) {}

  void add(const ScaledFactors& factors, int row, float (&sums)[kMatrixColumns]) const {
    Scaled accumulators[kMatrixColumns];
    int largest[kMatrixColumns];
    for (int column = 0; column < kMatrixColumns; ++column) {
      accumulators[column] = scaled(sums[column]);
      largest[column] = accumulators[column].exponent;
    }
    for (int k = begin_; k < end_; ++k) {
      for (int column = 0; column < kMatrixColumns; ++column) {
        largest[column] =
            std::max(largest[column], factors.a[row][k].exponent + factors.b[k][column].exponent);
      }
    }
    std::int64_t units[kMatrixColumns];
    for (int column = 0; column < kMatrixColumns; ++column) {
      const Scaled& sum = accumulators[column];
      units[column] =
          aligned(sum.significand << extra_bits_, largest[column] - sum.exponent, sum.sign);
    }
    for (int k = begin_; k < end_; ++k) {
      const Scaled& a = factors.a[row][k];
      for (int column = 0; column < kMatrixColumns; ++column) {
        const Scaled& b = factors.b[k][column];
        const std::int64_t product = (a.significand >> kSpareBits) * (b.significand >> kSpareBits);
        // 2 (23 - 12) = 22 fraction bits, one fewer than a sum's.
        units[column] += aligned(product << (extra_bits_ + 1),
                                 largest[column] - a.exponent - b.exponent, a.sign ^ b.sign);
      }
    }
    for (int column = 0; column < kMatrixColumns; ++column) {
      sums[column] = cut_to_float(units[column], largest[column] - kFractionBits - extra_bits_);
    }
  }

 private:
  static std::int64_t aligned(std::int64_t magnitude, int below, std::int64_t sign) {
    return ((magnitude >> std::min(below, 63)) ^ sign) - sign;
  }

  int begin_;
  int end_;
  int extra_bits_;
};

bool all_finite(const MatrixProduct& product) {
  const auto is_finite = [](float x) { return std::isfinite(x); };
  for (int i = 0; i < kMatrixRows; ++i) {
    if (!std::all_of(product.a[i], product.a[i] + product.depth, is_finite)) return false;
    if (!std::ranges::all_of(product.sum[i], is_finite)) return false;
    if (i < product.depth && !std::ranges::all_of(product.b[i], is_finite)) return false;
  }
  return true;
}

// Sets the sums that are infinite or NaN in any order of summation.
void set_not_finite(const MatrixProduct& before, MatrixProduct& product) {
  for (int row = 0; row < kMatrixRows; ++row) {
    for (int column = 0; column < kMatrixColumns; ++column) {
      double plain = before.sum[row][column];
      for (int k = 0; k < before.depth; ++k) {
        plain += static_cast<double>(before.a[row][k]) * static_cast<double>(before.b[k][column]);
      }
      if (!std::isfinite(plain)) product.sum[row][column] = static_cast<float>(plain);
    }
  }
}

void add_truncated(MatrixProduct& product, const Arithmetic& arithmetic) {
  if (!all_finite(product)) {
    MatrixProduct finite = product;
    const auto clear = [](float& x) { x = std::isfinite(x) ? x : 0; };
    for (auto& row : finite.a) std::ranges::for_each(row, clear);
    for (auto& row : finite.b) std::ranges::for_each(row, clear);
    for (auto& row : finite.sum) std::ranges::for_each(row, clear);
    add_truncated(finite, arithmetic);
    set_not_finite(product, finite);
    product = finite;
    return;
  }
  ScaledFactors factors;
  for (int k = 0; k < product.depth; ++k) {
    for (int row = 0; row < kMatrixRows; ++row) factors.a[row][k] = scaled(product.a[row][k]);
    for (int column = 0; column < kMatrixColumns; ++column) {
      factors.b[k][column] = scaled(product.b[k][column]);
    }
  }
  const int step = static_cast<int>(arithmetic.products_per_step);
  for (int k = 0; k < product.depth; k += step) {
    const TruncatedStep next(k, std::min(k + step, product.depth), arithmetic.extra_bits);
    for (int row = 0; row < kMatrixRows; ++row) next.add(factors, row, product.sum[row]);
  }
}

}  // namespace

void multiply_accumulate(MatrixProduct& product, const Arithmetic& arithmetic) {
  if (arithmetic.matrix_sum == MatrixSum::kTruncated) {
    add_truncated(product, arithmetic);
  } else {
    add_nearest(product);
  }
  for (auto& row : product.sum) {
    for (float& sum : row) sum = sum != sum ? std::bit_cast<float>(kCanonicalNan) : sum;
  }
}

}  // namespace recto::simt

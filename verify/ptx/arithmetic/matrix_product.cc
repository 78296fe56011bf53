#include "verify/ptx/arithmetic/matrix_product.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "core/contract.h"
#include "verify/ptx/arithmetic/rounding.h"

namespace recto::ptx {
namespace {

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

// Truncated sums are computed in fp64, which holds everything exactly: products, powers of two, and
// multiples of the unit to which a step is aligned.

// 2^e of a number 2^e (1 + f), or 0 of zero.
[[gnu::always_inline]] inline double leading_power(double x) {
  return double_of(bits_of(x) & kInfinity64);
}

// x without what is below the unit.
[[gnu::always_inline]] inline double cut(double x, double unit) {
  // Adding it rounds to a multiple of the unit, in the direction that the comparison shows.
  const double base = unit * 0x1p52;
  const double magnitude = double_of(bits_of(x) & ~kSign64);
  const double near = (magnitude + base) - base;
  const double below = near > magnitude ? near - unit : near;
  return double_of(bits_of(below) | (bits_of(x) & kSign64));
}

[[gnu::always_inline]] inline float cut_to_f32(double x) {
  const double magnitude = x < 0 ? -x : x;
  const float infinity = x < 0 ? -HUGE_VALF : HUGE_VALF;
  return magnitude < 0x1p128 ? rounded_to_f32(x, Rounding::kZero) : infinity;
}

// Sums of eight rows and columns, side by side, so that loops over them are vectorised.
class Tile {
 public:
  static constexpr int kSums = kRowBlock * kColumnBlock;

  [[gnu::always_inline]] inline Tile(const MatrixProduct& product, int row, int column)
      : product_(product), row_(row), column_(column) {
    for (int j = 0; j < kSums; ++j) plain_[j] = sums_[j] = *to(j);
  }

  // Adds the products from k = begin to end.
  [[gnu::always_inline]] inline void add_step(int begin, int end, double unit_scale) {
    double unit[kSums];
    double totals[kSums];
    for (int j = 0; j < kSums; ++j) unit[j] = leading_power(sums_[j]);
    for (int k = begin; k < end; ++k) {
      take_factors(k);
      for (int j = 0; j < kSums; ++j) {
        const double power = leading_power(a_[j]) * leading_power(b_[j]);
        unit[j] = power > unit[j] ? power : unit[j];
        plain_[j] += a_[j] * b_[j];
      }
    }
    for (int j = 0; j < kSums; ++j) {
      unit[j] *= unit_scale;
      totals[j] = cut(sums_[j], unit[j]);
    }
    for (int k = begin; k < end; ++k) {
      take_factors(k);
      for (int j = 0; j < kSums; ++j) totals[j] += cut(a_[j] * b_[j], unit[j]);
    }
    for (int j = 0; j < kSums; ++j) sums_[j] = cut_to_f32(totals[j]);
  }

  [[gnu::always_inline]] inline void store() const {
    for (int j = 0; j < kSums; ++j) {
      // Infinite or NaN if any order of summation gives that.
      const bool is_finite = plain_[j] - plain_[j] == 0;
      *to(j) = is_finite ? static_cast<float>(sums_[j]) : canonical(static_cast<float>(plain_[j]));
    }
  }

 private:
  [[gnu::always_inline]] inline float* to(int j) const {
    return product_.sums + (row_ + j / kColumnBlock) * product_.columns + column_ +
           j % kColumnBlock;
  }

  // The factors of all sums.
  [[gnu::always_inline]] inline void take_factors(int k) {
    const float* b = product_.b + k * product_.columns + column_;
    for (int r = 0; r < kRowBlock; ++r) {
      const double a = product_.a[(row_ + r) * product_.depth + k];
      for (int i = 0; i < kColumnBlock; ++i) {
        a_[r * kColumnBlock + i] = a;
        b_[r * kColumnBlock + i] = b[i];
      }
    }
  }

  const MatrixProduct& product_;
  int row_;
  int column_;
  double sums_[kSums];
  double plain_[kSums];  // in fp64, in the order of k
  double a_[kSums];
  double b_[kSums];
};

[[gnu::always_inline]] inline void add_tiles(const MatrixProduct& product, const SumModel& model) {
  const double unit_scale = double_of(static_cast<std::uint64_t>(1023 - model.fraction_bits) << 52);
  const int step = model.products_per_step;
  for (int row = 0; row < product.rows; row += kRowBlock) {
    for (int column = 0; column < product.columns; column += kColumnBlock) {
      Tile tile(product, row, column);
      for (int k = 0; k < product.depth; k += step) {
        tile.add_step(k, std::min(k + step, product.depth), unit_scale);
      }
      tile.store();
    }
  }
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) void add_truncated_with_avx2(const MatrixProduct& product,
                                                             const SumModel& model) {
  add_tiles(product, model);
}
#endif

void add_truncated(const MatrixProduct& product, const SumModel& model) {
#if defined(__x86_64__)
  static const bool kHasAvx2 = __builtin_cpu_supports("avx2");
  if (kHasAvx2) return add_truncated_with_avx2(product, model);
#endif
  add_tiles(product, model);
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

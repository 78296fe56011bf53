#include "verify/ptx/arithmetic/matrix_product.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "bazel/testing/catch.h"
#include "core/random_stream.h"
#include "verify/ptx/arithmetic/rounding.h"

namespace recto::ptx {
namespace {

constexpr SumModel kTruncating = {.sum = MatrixSum::kTruncated};

// Matrices with their memory.
struct Matrices {
  int rows;
  int columns;
  int depth;
  std::vector<float> a;
  std::vector<float> b;
  std::vector<float> sums;

  Matrices(int row_count, int column_count, int k_count)
      : rows(row_count),
        columns(column_count),
        depth(k_count),
        a(static_cast<std::size_t>(rows * depth)),
        b(static_cast<std::size_t>(depth * columns)),
        sums(static_cast<std::size_t>(rows * columns)) {}

  float& at_a(int row, int k) { return a[static_cast<std::size_t>(row * depth + k)]; }
  float& at_b(int k, int column) { return b[static_cast<std::size_t>(k * columns + column)]; }
  float& sum(int row, int column) { return sums[static_cast<std::size_t>(row * columns + column)]; }

  void run(const SumModel& model) {
    multiply_accumulate({.rows = rows,
                         .columns = columns,
                         .depth = depth,
                         .a = a.data(),
                         .b = b.data(),
                         .sums = sums.data()},
                        model);
  }
};

// Halves of different sizes and signs.
float next_half(RandomStream& random) {
  const double magnitude =
      std::ldexp(1 + random.next_unit(), static_cast<int>(random.next_below(12)) - 6);
  return widened<kF16>(narrowed<kF16>(random.next_below(2) == 0 ? magnitude : -magnitude, {}));
}

Matrices drawn(std::uint64_t seed, Matrices matrices) {
  RandomStream random(seed);
  for (float& x : matrices.a) x = next_half(random);
  for (float& x : matrices.b) x = next_half(random);
  for (float& x : matrices.sums) x = static_cast<float>(4 * random.next_unit() - 2);
  return matrices;
}

// The same model in another arithmetic: fp64 holds products of halves, and multiples of a power of
// two below 2^53 of it, exactly.
float expected_truncated(float sum, const std::vector<std::pair<float, float>>& factors,
                         int fraction_bits) {
  int largest = sum == 0 ? -10000 : std::ilogb(sum);
  for (const auto& [a, b] : factors) {
    if (a != 0 && b != 0) largest = std::max(largest, std::ilogb(a) + std::ilogb(b));
  }
  const double unit = std::ldexp(1.0, largest - fraction_bits);
  double total = std::trunc(sum / unit);
  for (const auto& [a, b] : factors) total += std::trunc(double{a} * double{b} / unit);
  const double exact = total * unit;
  const auto nearest = static_cast<float>(exact);
  return std::abs(nearest) > std::abs(exact) ? std::nextafter(nearest, 0.0F) : nearest;
}

// A whole step; the products that are not given are zero.
float one_step(float sum, const std::vector<float>& a, const std::vector<float>& b,
               int fraction_bits = 23) {
  Matrices matrices(8, 8, 16);
  for (std::size_t k = 0; k < b.size(); ++k) {
    matrices.at_a(5, static_cast<int>(k)) = a[k];
    matrices.at_b(static_cast<int>(k), 3) = b[k];
  }
  matrices.sum(5, 3) = sum;
  matrices.run({.sum = MatrixSum::kTruncated, .fraction_bits = fraction_bits});
  return matrices.sum(5, 3);
}

}  // namespace

TEST_CASE("sums to nearest are a chain of fused multiply-adds in the order of k") {
  for (const int depth : {4, 8, 16, 32}) {
    for (const int columns : {8, 24}) {
      Matrices matrices = drawn(static_cast<std::uint64_t>(depth), {16, columns, depth});
      Matrices before = matrices;
      matrices.run({});
      int wrong = 0;
      int reversed = 0;
      for (int row = 0; row < 16; ++row) {
        for (int column = 0; column < columns; ++column) {
          float expected = before.sum(row, column);
          float other = expected;
          for (int k = 0; k < depth; ++k) {
            const int last = depth - 1 - k;
            expected = std::fma(before.at_a(row, k), before.at_b(k, column), expected);
            other = std::fma(before.at_a(row, last), before.at_b(last, column), other);
          }
          wrong += matrices.sum(row, column) != expected;
          reversed += matrices.sum(row, column) != other;
        }
      }
      CHECK(wrong == 0);
      // The comparison notices another order.
      CHECK(reversed > 10);
    }
  }
}

TEST_CASE("truncated sums are cut off below the largest exponent, in steps") {
  for (const int step : {4, 8, 16}) {
    for (const int fraction_bits : {10, 13, 23, 24, 25, 28}) {
      Matrices matrices =
          drawn(static_cast<std::uint64_t>(step + 100 * fraction_bits), {8, 16, 16});
      Matrices before = matrices;
      matrices.run({.sum = MatrixSum::kTruncated,
                    .products_per_step = step,
                    .fraction_bits = fraction_bits});
      int wrong = 0;
      for (int row = 0; row < 8; ++row) {
        for (int column = 0; column < 16; ++column) {
          float expected = before.sum(row, column);
          for (int begin = 0; begin < 16; begin += step) {
            std::vector<std::pair<float, float>> factors;
            for (int k = begin; k < begin + step; ++k) {
              factors.emplace_back(before.at_a(row, k), before.at_b(k, column));
            }
            expected = expected_truncated(expected, factors, fraction_bits);
          }
          wrong += matrices.sum(row, column) != expected;
        }
      }
      CHECK(wrong == 0);
    }
  }
}

// Probes of the kind that Fasi et al. ran on hardware.
TEST_CASE(
    "each term loses bits below the last place of the largest one, unless extra bits keep them") {
  // 1 and four times 2^-24, half a unit each: truncation loses all, exact sums and two more bits
  // keep 2^-22.
  const std::vector<float> ones(4, 1.0F);
  const std::vector<float> halves(4, 0x1p-24F);
  CHECK(one_step(1.0F, ones, halves) == 1.0F);
  CHECK(one_step(1.0F, ones, halves, 24) == 1.0F + 0x1p-22F);
  // The order does not matter: the accumulator is aligned as the products are.
  CHECK(one_step(0x1p-24F, {1.0F, 1.0F}, {1.0F, 0x1p-24F}) == 1.0F);
  CHECK(one_step(0x1p-24F, {1.0F, 1.0F}, {1.0F, 0x1p-24F}, 24) == 1.0F + 0x1p-23F);
  // Towards zero, for both signs.
  CHECK(one_step(-1.0F, {1.0F}, {-0x1.8p-24F}) == -1.0F);
  CHECK(one_step(1.0F, {1.0F}, {0x1.fp-24F}) == 1.0F);
  // A nearest sum rounds up.
  CHECK(std::fma(1.0F, 0x1.fp-24F, 1.0F) == 1.0F + 0x1p-23F);
  // With the 13 bits of fp8, 1 + 2^-14 is lost.
  CHECK(one_step(1.0F, {1.0F}, {0x1p-13F}, 13) == 1.0F + 0x1p-13F);
  CHECK(one_step(1.0F, {1.0F}, {0x1p-14F}, 13) == 1.0F);
}

TEST_CASE("a product is aligned by the exponents of its factors, before it is normalised") {
  // 1.5 * 1.5 = 2.25 has exponent 0 here, so one more bit is kept than for 2.25 itself.
  CHECK(one_step(0x1p-23F, {1.5F}, {1.5F}) == 2.25F);
  CHECK(one_step(0x1p-22F, {1.5F}, {1.5F}) == 2.25F + 0x1p-22F);
  // The products cancel, and leave what alignment has kept of the accumulator.
  CHECK(one_step(0x1p-23F, {1.5F, -1.5F}, {1.5F, 1.5F}) == 0x1p-23F);
  CHECK(one_step(0x1p-24F, {1.5F, -1.5F}, {1.5F, 1.5F}) == 0.0F);
}

TEST_CASE("zeros do not affect the alignment of other terms") {
  CHECK(one_step(0x1p-60F, {0.0F, 1.0F}, {60000.0F, 0.0F}) == 0x1p-60F);
  CHECK(one_step(0.0F, {0.0F, -0.0F}, {60000.0F, 1.0F}) == 0.0F);
}

TEST_CASE("infinities and NaN come out as IEEE 754 has them, NaN as the canonical one") {
  for (const SumModel& model : {SumModel{}, kTruncating}) {
    Matrices matrices = drawn(1, {8, 8, 16});
    matrices.at_a(0, 3) = INFINITY;
    matrices.at_b(3, 0) = 1;
    matrices.at_b(3, 1) = -1;
    matrices.at_b(3, 2) = 0;
    matrices.at_a(1, 0) = -NAN;
    matrices.run(model);
    CHECK(matrices.sum(0, 0) == INFINITY);
    CHECK(matrices.sum(0, 1) == -INFINITY);
    CHECK(bits_of(matrices.sum(0, 2)) == kNan32);
    CHECK(bits_of(matrices.sum(1, 5)) == kNan32);
    CHECK(std::isfinite(matrices.sum(2, 0)));
  }
}

TEST_CASE("truncated sums overflow to infinity and keep subnormals") {
  const float most = std::numeric_limits<float>::max();
  CHECK(one_step(most, {0x1p100F}, {0x1p27F}) == INFINITY);
  CHECK(one_step(-most, {0x1p100F}, {-0x1p27F}) == -INFINITY);
  CHECK(one_step(0x1p-149F, {0x1p-100F}, {0x1p-40F}) == 0x1p-140F + 0x1p-149F);
  CHECK(one_step(0.0F, {0x1p-100F}, {0x1.8p-49F}) == 0x1p-149F);
  CHECK(one_step(0.0F, {0x1p-100F}, {0x1p-50F}) == 0.0F);
}

TEST_CASE("both kinds of sums are near the exact sum, and truncation errs in one direction") {
  double drift = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Matrices nearest = drawn(seed, {16, 8, 16});
    for (auto* values : {&nearest.a, &nearest.b, &nearest.sums}) {
      for (float& x : *values) x = std::abs(x);
    }
    Matrices truncated = nearest;
    Matrices before = nearest;
    nearest.run({});
    truncated.run(kTruncating);
    for (int row = 0; row < 16; ++row) {
      for (int column = 0; column < 8; ++column) {
        double exact = before.sum(row, column);
        for (int k = 0; k < 16; ++k) exact += double{before.at_a(row, k)} * before.at_b(k, column);
        CHECK(std::abs(nearest.sum(row, column) - exact) <= 16 * 0x1p-24 * exact);
        CHECK(truncated.sum(row, column) <= exact);
        // 17 terms cut below 2^-25 of the largest, and the result below its last bit.
        CHECK(exact - truncated.sum(row, column) <= (17 * 0x1p-25 + 0x1p-23) * exact);
        drift += (exact - truncated.sum(row, column)) / exact;
      }
    }
  }
  CHECK(drift > 0);
}

}  // namespace recto::ptx

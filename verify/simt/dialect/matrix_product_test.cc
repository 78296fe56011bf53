#include "verify/simt/dialect/matrix_product.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "bazel/testing/catch.h"
#include "core/random_stream.h"
#include "verify/simt/dialect/simt_half.h"

namespace recto::simt {
namespace {

constexpr Arithmetic kTruncating = {.matrix_sum = MatrixSum::kTruncated};

// Halves of different sizes and signs.
float next_half(RandomStream& random) {
  const double magnitude =
      std::ldexp(1 + random.next_unit(), static_cast<int>(random.next_below(12)) - 6);
  return __half(random.next_below(2) == 0 ? magnitude : -magnitude);
}

MatrixProduct random_product(std::uint64_t seed, int depth) {
  RandomStream random(seed);
  MatrixProduct product;
  product.depth = depth;
  for (auto& row : product.a) {
    for (float& x : row) x = next_half(random);
  }
  for (auto& row : product.b) {
    for (float& x : row) x = next_half(random);
  }
  for (auto& row : product.sum) {
    for (float& x : row) x = static_cast<float>(4 * random.next_unit() - 2);
  }
  return product;
}

// The same model in another arithmetic: fp64 holds products of halves, and multiples of a power of
// two below 2^53 of it, exactly.
float expected_truncated(float sum, const float* a, const float* b, int count, int extra_bits) {
  int largest = sum == 0 ? -10000 : std::ilogb(sum);
  for (int k = 0; k < count; ++k) {
    if (a[k] != 0 && b[k] != 0) largest = std::max(largest, std::ilogb(a[k]) + std::ilogb(b[k]));
  }
  const double unit = std::ldexp(1.0, largest - 23 - extra_bits);
  double total = std::trunc(sum / unit);
  for (int k = 0; k < count; ++k) total += std::trunc(double{a[k]} * double{b[k]} / unit);
  const double exact = total * unit;
  const auto nearest = static_cast<float>(exact);
  return std::abs(nearest) > std::abs(exact) ? std::nextafter(nearest, 0.0F) : nearest;
}

// A whole step; the products that are not given are zero.
float one_step(float sum, const std::vector<float>& a, const std::vector<float>& b,
               unsigned extra_bits = 0) {
  MatrixProduct product = {};
  std::ranges::copy(a, product.a[5]);
  for (std::size_t k = 0; k < b.size(); ++k) product.b[k][3] = b[k];
  product.sum[5][3] = sum;
  multiply_accumulate(product, {.matrix_sum = MatrixSum::kTruncated, .extra_bits = extra_bits});
  return product.sum[5][3];
}

}  // namespace

TEST_CASE("sums to nearest are a chain of fused multiply-adds in the order of k") {
  for (const int depth : {8, 16}) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      MatrixProduct product = random_product(seed, depth);
      const MatrixProduct before = product;
      multiply_accumulate(product, {});
      int wrong = 0;
      for (int row = 0; row < kMatrixRows; ++row) {
        for (int column = 0; column < kMatrixColumns; ++column) {
          float expected = before.sum[row][column];
          for (int k = 0; k < depth; ++k) {
            expected = std::fma(before.a[row][k], before.b[k][column], expected);
          }
          if (product.sum[row][column] != expected) ++wrong;
        }
      }
      REQUIRE(wrong == 0);
    }
  }
}

TEST_CASE("truncated sums are cut off below the largest exponent, in steps") {
  for (const unsigned step : {4U, 8U, 16U}) {
    for (const unsigned extra_bits : {0U, 1U, 2U, 5U}) {
      const Arithmetic arithmetic = {
          .matrix_sum = MatrixSum::kTruncated, .products_per_step = step, .extra_bits = extra_bits};
      MatrixProduct product = random_product(step + 100 * extra_bits, 16);
      const MatrixProduct before = product;
      multiply_accumulate(product, arithmetic);
      int wrong = 0;
      for (int row = 0; row < kMatrixRows; ++row) {
        for (int column = 0; column < kMatrixColumns; ++column) {
          float b[16];
          for (int k = 0; k < 16; ++k) b[k] = before.b[k][column];
          float expected = before.sum[row][column];
          for (unsigned k = 0; k < 16; k += step) {
            expected = expected_truncated(expected, before.a[row] + k, b + k,
                                          static_cast<int>(step), static_cast<int>(extra_bits));
          }
          if (product.sum[row][column] != expected) ++wrong;
        }
      }
      REQUIRE(wrong == 0);
    }
  }
}

// Probes of the kind that Fasi et al. ran on hardware.
TEST_CASE(
    "each term loses bits below the last place of the largest one, unless extra bits keep them") {
  // 1 and four times 2^-24, half a unit each: truncation loses all, exact sums and two extra bits
  // keep 2^-22.
  const std::vector<float> ones(4, 1.0F);
  const std::vector<float> halves(4, 0x1p-24F);
  CHECK(one_step(1.0F, ones, halves) == 1.0F);
  CHECK(one_step(1.0F, ones, halves, 1) == 1.0F + 0x1p-22F);
  // The order does not matter: the accumulator is aligned as the products are.
  CHECK(one_step(0x1p-24F, {1.0F, 1.0F}, {1.0F, 0x1p-24F}) == 1.0F);
  CHECK(one_step(0x1p-24F, {1.0F, 1.0F}, {1.0F, 0x1p-24F}, 1) == 1.0F + 0x1p-23F);
  // Towards zero, for both signs.
  CHECK(one_step(-1.0F, {1.0F}, {-0x1.8p-24F}) == -1.0F);
  CHECK(one_step(1.0F, {1.0F}, {0x1.fp-24F}) == 1.0F);
  // A nearest sum rounds up.
  CHECK(std::fma(1.0F, 0x1.fp-24F, 1.0F) == 1.0F + 0x1p-23F);
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
  for (const Arithmetic& arithmetic : {Arithmetic{}, kTruncating}) {
    MatrixProduct product = random_product(1, 16);
    product.a[0][3] = INFINITY;
    product.b[3][0] = 1;
    product.b[3][1] = -1;
    product.b[3][2] = 0;
    product.a[1][0] = NAN;
    multiply_accumulate(product, arithmetic);
    CHECK(product.sum[0][0] == INFINITY);
    CHECK(product.sum[0][1] == -INFINITY);
    CHECK(std::bit_cast<std::uint32_t>(product.sum[0][2]) == 0x7fffffff);
    CHECK(std::bit_cast<std::uint32_t>(product.sum[1][5]) == 0x7fffffff);
    CHECK(std::isfinite(product.sum[2][0]));
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
    MatrixProduct nearest = random_product(seed, 16);
    for (auto& row : nearest.a) {
      for (float& x : row) x = std::abs(x);
    }
    for (auto& row : nearest.b) {
      for (float& x : row) x = std::abs(x);
    }
    for (auto& row : nearest.sum) {
      for (float& x : row) x = std::abs(x);
    }
    MatrixProduct truncated = nearest;
    const MatrixProduct before = nearest;
    multiply_accumulate(nearest, {});
    multiply_accumulate(truncated, kTruncating);
    for (int row = 0; row < kMatrixRows; ++row) {
      for (int column = 0; column < kMatrixColumns; ++column) {
        double exact = before.sum[row][column];
        for (int k = 0; k < 16; ++k) exact += double{before.a[row][k]} * before.b[k][column];
        CHECK(std::abs(nearest.sum[row][column] - exact) <= 16 * 0x1p-24 * exact);
        CHECK(truncated.sum[row][column] <= exact);
        // 17 terms cut below 2^-25 of the largest, and the result below its last bit.
        CHECK(exact - truncated.sum[row][column] <= (17 * 0x1p-25 + 0x1p-23) * exact);
        drift += (exact - truncated.sum[row][column]) / exact;
      }
    }
  }
  CHECK(drift > 0);
}

}  // namespace recto::simt

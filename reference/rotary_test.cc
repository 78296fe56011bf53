#include "reference/rotary.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "bazel/testing/catch.h"
#include "core/contract.h"
#include "core/random_stream.h"

namespace recto::reference {
namespace {

constexpr double kCosOf1 = 0.5403023058681398;
constexpr double kSinOf1 = 0.8414709848078965;
constexpr double kCosOfTenth = 0.9950041652780258;
constexpr double kSinOfTenth = 0.09983341664682815;
constexpr double kTwoRoundings = 0x1p-23 / (1 - 0x1p-23);  // two roundings of fp32

// Six dims, the first four of them rotated: pair 0 by 1 a position, pair 1 by 0.1.
RotaryOptions small_options(RotaryPairing pairing) {
  return {.pairing = pairing, .rotary_dim = 4, .base = 100.0};
}

Matrix random_rows(std::int64_t count, std::int64_t dims) {
  RandomStream stream(4);
  return Matrix::NullaryExpr(count, dims, [&stream] { return 2 * stream.next_unit() - 1; });
}

Matrix unit_row(std::int64_t dim) {
  Matrix row = Matrix::Zero(1, 6);
  row(0, dim) = 1.0;
  return row;
}

void check_row(const Matrix& rotated, std::initializer_list<double> expected) {
  std::int64_t dim = 0;
  for (const double value : expected) {
    CAPTURE(dim);
    CHECK(std::abs(rotated(0, dim++) - value) <= 0x1p-52);
  }
}

TEST_CASE("halves: dims p and p + rotary_dim / 2 turn counterclockwise, the rest stays") {
  const RotaryOptions options = small_options(RotaryPairing::kHalves);
  check_row(rotate(unit_row(0), 1, options), {kCosOf1, 0, kSinOf1, 0, 0, 0});
  check_row(rotate(unit_row(1), 1, options), {0, kCosOfTenth, 0, kSinOfTenth, 0, 0});
  check_row(rotate(unit_row(2), 1, options), {-kSinOf1, 0, kCosOf1, 0, 0, 0});
  check_row(rotate(unit_row(3), 1, options), {0, -kSinOfTenth, 0, kCosOfTenth, 0, 0});
  check_row(rotate(unit_row(4), 1, options), {0, 0, 0, 0, 1, 0});
  check_row(rotate(unit_row(5), 1, options), {0, 0, 0, 0, 0, 1});
}

TEST_CASE("interleaved: dims 2 p and 2 p + 1 turn counterclockwise, the rest stays") {
  const RotaryOptions options = small_options(RotaryPairing::kInterleaved);
  check_row(rotate(unit_row(0), 1, options), {kCosOf1, kSinOf1, 0, 0, 0, 0});
  check_row(rotate(unit_row(1), 1, options), {-kSinOf1, kCosOf1, 0, 0, 0, 0});
  check_row(rotate(unit_row(2), 1, options), {0, 0, kCosOfTenth, kSinOfTenth, 0, 0});
  check_row(rotate(unit_row(3), 1, options), {0, 0, -kSinOfTenth, kCosOfTenth, 0, 0});
  check_row(rotate(unit_row(4), 1, options), {0, 0, 0, 0, 1, 0});
}

TEST_CASE("position 0 changes nothing, position 1 does; row r stands at first_position + r") {
  const Matrix rows = random_rows(4, 6);
  for (const RotaryPairing pairing : {RotaryPairing::kHalves, RotaryPairing::kInterleaved}) {
    const RotaryOptions options = small_options(pairing);
    CHECK(rotate(rows.topRows(1), 0, options) == rows.topRows(1));
    CHECK(rotate(rows.topRows(1), 1, options) != rows.topRows(1));
    const Matrix rotated = rotate(rows, 7, options);
    for (std::int64_t row = 0; row < 4; ++row) {
      CHECK(rotated.row(row) == rotate(rows.row(row), 7 + row, options));
    }
  }
}

TEST_CASE("a rotary_dim of 0 rotates nothing, and the head's dim rotates everything") {
  const Matrix row = Matrix::Ones(1, 6);
  CHECK(rotate(row, 3, {.rotary_dim = 0}) == row);
  const Matrix rotated = rotate(row, 3, {.rotary_dim = 6});
  CHECK((rotated.array() != row.array()).all());
}

TEST_CASE("odd or too large rotary dims and bases below 1 are refused") {
  const Matrix row = Matrix::Ones(1, 6);
  CHECK_NOTHROW(rotate(row, 1, {.rotary_dim = 6, .base = 1.0}));
  CHECK_THROWS_AS(rotate(row, 1, {.rotary_dim = 5}), ContractFailure);
  CHECK_THROWS_AS(rotate(row, 1, {.rotary_dim = 8}), ContractFailure);
  CHECK_THROWS_AS(rotate(row, 1, {.rotary_dim = -2}), ContractFailure);
  CHECK_THROWS_AS(rotate(row, 1, {.rotary_dim = 6, .base = 0.99}), ContractFailure);
  CHECK_THROWS_AS(rotary_bound(row, 1, {.rotary_dim = 5}, {}), ContractFailure);
}

// Uses more digits than fp64, where the platform has them.
long double precise_element(double x, double y, long double angle) {
  return x * std::cos(angle) - y * std::sin(angle);
}

TEST_CASE("the bound has room for the reference's own error, which grows with the position") {
  const RotaryOptions options = {.rotary_dim = 128, .base = 500000.0};
  const Matrix row = random_rows(1, 128);
  for (const std::int64_t position : {1, 77, 4095, 131071, 1 << 20}) {
    const Matrix rotated = rotate(row, position, options);
    const Matrix bound = rotary_bound(row, position, options, {.underflow = 0.0});
    double largest_share = 0.0;
    for (std::int64_t pair = 0; pair < 64; ++pair) {
      const double x = row(0, pair);
      const double y = row(0, pair + 64);
      const long double angle =
          static_cast<long double>(position) *
          std::pow(500000.0L, -2.0L * static_cast<long double>(pair) / 128.0L);
      const long double terms =
          std::abs(x) * std::abs(std::cos(angle)) + std::abs(y) * std::abs(std::sin(angle));
      // The part of the bound that remains after the kernel's fp32 arithmetic.
      const long double reserved = bound(0, pair) - kTwoRoundings * terms;
      const long double own_error = std::abs(precise_element(x, y, angle) - rotated(0, pair));
      largest_share = std::max(largest_share, static_cast<double>(own_error / reserved));
    }
    CAPTURE(position, largest_share);
    CHECK(largest_share <= 1.0);
    CHECK(largest_share > 0.02);
  }
}

TEST_CASE("the bound is the sum of its parts, worked out by hand") {
  Matrix row = Matrix::Zero(1, 6);
  row(0, 0) = 3.0;
  row(0, 2) = -4.0;
  row(0, 5) = 2.0;
  const RotaryOptions options = small_options(RotaryPairing::kHalves);
  const double terms = 3 * kCosOf1 + 4 * kSinOf1;
  const double before = 7e-6 + kTwoRoundings * (terms + 7e-6);
  const Matrix bound = rotary_bound(row, 1, options,
                                    {.table_error = 1e-6,
                                     .output_roundoff = 0x1p-8,
                                     .output_underflow = 1e-12,
                                     .underflow = 0.0});
  const double out = 3 * kCosOf1 + 4 * kSinOf1;
  CHECK(bound(0, 0) == Catch::Approx(before + 0x1p-8 * (out + before) + 1e-12).epsilon(1e-9));
  CHECK(bound(0, 1) == Catch::Approx(1e-12));
  CHECK(bound(0, 5) == 2.0 * 0x1p-8 + 1e-12);
  // At a large position, the part of the bound beyond fp32 arithmetic is the reference's own error:
  // an angle off by (ln base + 4) units, and 5 units of cosine, sine, products and sum.
  const std::int64_t position = std::int64_t{1} << 24;
  const auto angle = static_cast<double>(position);
  const double far = 3 * std::abs(std::cos(angle)) + 4 * std::abs(std::sin(angle));
  const double own =
      rotary_bound(row, position, options, {.underflow = 0.0})(0, 0) - kTwoRoundings * far;
  CHECK(own == Catch::Approx((std::log(100.0) + 4) * angle * 0x1p-53 * 7).epsilon(1e-6));
  const double own_of_1 =
      rotary_bound(row, 1, options, {.underflow = 0.0})(0, 0) - kTwoRoundings * terms;
  CHECK(own_of_1 == Catch::Approx((std::log(100.0) + 4 + 5) * 0x1p-53 * 7).epsilon(1e-3));
  // Dims that are not rotated are not computed.
  CHECK(rotary_bound(row, 1, options, {})(0, 5) == 0.0);
}

}  // namespace
}  // namespace recto::reference

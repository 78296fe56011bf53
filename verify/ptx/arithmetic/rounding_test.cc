#include "verify/ptx/arithmetic/rounding.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "core/random_stream.h"
#include "verify/ptx/arithmetic/reference_rounding.h"

namespace recto::ptx {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Every number of the format, every point half-way to the next, their neighbours in fp64, and
// numbers beyond the largest; with both signs.
std::vector<double> points_around(const FormatNumbers& numbers) {
  std::vector<double> points = {kInfinity, std::numeric_limits<double>::max(), 1e39, 5e-324};
  for (std::uint32_t code = 0; code < numbers.count(); ++code) {
    const double x = numbers.value(code);
    const double half = x + (numbers.value(code + 1) - x) / 2;
    for (const double point : {x, half}) {
      points.push_back(point);
      points.push_back(std::nextafter(point, kInfinity));
      if (point > 0) points.push_back(std::nextafter(point, 0.0));
    }
  }
  const std::size_t count = points.size();
  for (std::size_t i = 0; i < count; ++i) points.push_back(-points[i]);
  return points;
}

template <FloatFormat kFormat>
std::uint32_t wrong_codes(const FloatMode& mode) {
  const FormatNumbers numbers(kFormat);
  std::uint32_t wrong = 0;
  for (const double x : points_around(numbers)) {
    if (narrowed<kFormat>(x, mode) != numbers.rounded(x, mode)) ++wrong;
  }
  return wrong;
}

template <FloatFormat kFormat>
void check_all_modes() {
  for (const Rounding rounding : kRoundings) {
    for (const bool satfinite : {false, true}) {
      INFO("rounding " << static_cast<int>(rounding) << ", satfinite " << satfinite);
      CHECK(wrong_codes<kFormat>({.rounding = rounding, .satfinite = satfinite}) == 0);
    }
  }
}

template <FloatFormat kFormat>
void check_nearest_of_fp32() {
  const FormatNumbers numbers(kFormat);
  for (const bool satfinite : {false, true}) {
    std::uint32_t wrong = 0;
    for (const double point : points_around(numbers)) {
      const auto nearest = static_cast<float>(point);
      for (const float x :
           {nearest, std::nextafter(nearest, 0.0F), std::nextafter(nearest, 1e38F)}) {
        const std::uint32_t expected = numbers.rounded(x, {.satfinite = satfinite});
        if (narrowed_nearest<kFormat>(x, {.satfinite = satfinite}) != expected) ++wrong;
      }
    }
    CHECK(wrong == 0);
  }
}

// Codes that do not widen to the number of their fields.
template <FloatFormat kFormat>
std::uint32_t wrong_numbers() {
  const FormatNumbers numbers(kFormat);
  std::uint32_t wrong = 0;
  for (std::uint32_t code = 0; code < 2 * kFormat.sign(); ++code) {
    const float x = widened<kFormat>(code);
    const std::uint32_t magnitude = code & (kFormat.sign() - 1);
    const bool is_negative = code != magnitude;
    if (magnitude < numbers.count()) {
      wrong += std::abs(double{x}) != numbers.value(magnitude) || std::signbit(x) != is_negative;
    } else if (kFormat.has_infinity && magnitude == kFormat.infinity()) {
      wrong += !std::isinf(x) || std::signbit(x) != is_negative;
    } else {
      wrong += !std::isnan(x);
    }
  }
  return wrong;
}

}  // namespace

TEST_CASE("narrow numbers are those that a search among all numbers of the format finds") {
  check_all_modes<kF16>();
  check_all_modes<kBf16>();
  check_all_modes<kTf32>();
  check_all_modes<kE4m3>();
  check_all_modes<kE5m2>();
}

TEST_CASE("the faster rounding of fp32 numbers to nearest finds the same") {
  check_nearest_of_fp32<kF16>();
  check_nearest_of_fp32<kBf16>();
  check_nearest_of_fp32<kE4m3>();
  check_nearest_of_fp32<kE5m2>();
}

TEST_CASE("every code of 16 and 8 bits widens to its number") {
  CHECK(wrong_numbers<kF16>() == 0);
  CHECK(wrong_numbers<kBf16>() == 0);
  CHECK(wrong_numbers<kE4m3>() == 0);
  CHECK(wrong_numbers<kE5m2>() == 0);
}

TEST_CASE("the search notices another rounding") {
  const FormatNumbers numbers(kF16);
  const double half_way = 1 + 0x1p-11;
  CHECK(numbers.rounded(half_way, {.rounding = Rounding::kNearestEven}) !=
        numbers.rounded(half_way, {.rounding = Rounding::kNearestAway}));
  CHECK(wrong_codes<kF16>({}) == 0);
  std::uint32_t differing = 0;
  for (const double x : points_around(numbers)) {
    differing += narrowed<kF16>(x, {}) != numbers.rounded(x, {.rounding = Rounding::kZero});
  }
  CHECK(differing > 10000);
}

TEST_CASE("NaN becomes the canonical NaN, and 0 if it saturates") {
  const double nan = -std::numeric_limits<double>::quiet_NaN();
  for (const Rounding rounding : kRoundings) {
    for (const bool satfinite : {false, true}) {
      const FloatMode mode = {.rounding = rounding, .satfinite = satfinite};
      CHECK(narrowed<kF16>(nan, mode) == 0x7fff);
      CHECK(narrowed<kBf16>(nan, mode) == 0x7fff);
      CHECK(narrowed<kE4m3>(nan, mode) == 0x7f);
      CHECK(narrowed<kE5m2>(nan, mode) == 0x7f);
    }
  }
  CHECK(narrowed_nearest<kE4m3>(-NAN, {.satfinite = true}) == 0x7f);
  CHECK(narrowed_nearest<kF16>(-NAN, {.relu = true}) == 0x7fff);
  CHECK(narrowed_nearest<kF16>(NAN, {.saturate = true}) == 0);
  CHECK(bits_of(widened<kF16>(0xfe00)) == kNan32);
  CHECK(bits_of(widened<kE4m3>(0xff)) == kNan32);
  // The upper half of an fp32 number.
  CHECK(bits_of(widened<kBf16>(0xff81)) == 0xff810000);
}

TEST_CASE("results are clamped to [0, 1], or to 0 from below") {
  for (const double x : {-kInfinity, -2.0, -1e-30, -0.0, 0.0, 0.25, 1.0, 1.5, kInfinity}) {
    const double saturated = x > 0 ? std::min(x, 1.0) : 0.0;
    CHECK(narrowed<kF16>(x, {.saturate = true}) == narrowed<kF16>(saturated, {}));
    CHECK(narrowed<kF16>(x, {.relu = true}) == narrowed<kF16>(x > 0 ? x : 0.0, {}));
    const auto f = static_cast<float>(x);
    CHECK(narrowed_nearest<kBf16>(f, {.saturate = true}) == narrowed<kBf16>(saturated, {}));
    CHECK(narrowed_nearest<kBf16>(f, {.relu = true}) == narrowed<kBf16>(x > 0 ? f : 0.0, {}));
  }
}

TEST_CASE("fp64 numbers round to fp32 in every mode") {
  RandomStream random(1);
  int wrong = 0;
  for (int i = 0; i < 200000; ++i) {
    // Also subnormal and infinite fp32 numbers.
    const double x =
        std::ldexp(2 * random.next_unit() - 1, static_cast<int>(random.next_below(300)) - 160);
    float below = static_cast<float>(x);
    if (double{below} > x) below = std::nextafter(below, -INFINITY);
    float above = static_cast<float>(x);
    if (double{above} < x) above = std::nextafter(above, INFINITY);
    wrong += bits_of(rounded_to_f32(x, Rounding::kNearestEven)) != bits_of(static_cast<float>(x));
    wrong += rounded_to_f32(x, Rounding::kDown) != below;
    wrong += rounded_to_f32(x, Rounding::kUp) != above;
    wrong += rounded_to_f32(x, Rounding::kZero) != (x < 0 ? above : below);
  }
  CHECK(wrong == 0);
  CHECK(rounded_to_f32(1e300, Rounding::kZero) == std::numeric_limits<float>::max());
  CHECK(rounded_to_f32(-1e300, Rounding::kUp) == std::numeric_limits<float>::lowest());
  CHECK(rounded_to_f32(1e300, Rounding::kUp) == INFINITY);
  CHECK(rounded_to_f32(-kInfinity, Rounding::kZero) == -INFINITY);
  CHECK(rounded_to_f32(1e-300, Rounding::kUp) == std::numeric_limits<float>::denorm_min());
  CHECK(std::signbit(rounded_to_f32(-1e-300, Rounding::kUp)));
}

TEST_CASE("sums rounded to odd record that they are inexact") {
  CHECK(bits_of(odd_sum(1, 0x1p-60, Rounding::kZero)) == bits_of(1.0) + 1);
  CHECK(bits_of(odd_sum(1, -0x1p-60, Rounding::kZero)) == bits_of(1.0) - 1);
  CHECK(odd_sum(1, 0x1p-40, Rounding::kZero) == 1 + 0x1p-40);
  CHECK(odd_sum(kInfinity, 1, Rounding::kZero) == kInfinity);
  CHECK(std::isnan(odd_sum(kInfinity, -kInfinity, Rounding::kZero)));
  // The sign of an exact zero.
  CHECK(std::signbit(odd_sum(1, -1, Rounding::kDown)));
  CHECK_FALSE(std::signbit(odd_sum(1, -1, Rounding::kUp)));
  CHECK_FALSE(std::signbit(odd_sum(0, 0, Rounding::kDown)));
  CHECK(std::signbit(odd_sum(-0.0, -0.0, Rounding::kUp)));
}

TEST_CASE("subnormal numbers are flushed to zeros of their sign") {
  CHECK(bits_of(flushed(-1e-40F)) == 0x80000000);
  CHECK(flushed(std::numeric_limits<float>::min()) == std::numeric_limits<float>::min());
  CHECK(flushed<kF16>(0x83ff) == 0x8000);
  CHECK(flushed<kF16>(0x0400) == 0x0400);
}

}  // namespace recto::ptx

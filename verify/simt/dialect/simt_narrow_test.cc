#include "verify/simt/dialect/simt_narrow.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "bazel/testing/catch.h"
#include "core/random_stream.h"

namespace recto::simt::device {
namespace {

constexpr int kSamples = 300000;

// The meaning of a code by the definition of its format: an independent formula.
template <NarrowFormat kFormat>
double meaning(std::uint32_t code) {
  const bool is_negative = (code >> (kFormat.exponent_bits + kFormat.fraction_bits) & 1) != 0;
  const int field =
      static_cast<int>(code >> kFormat.fraction_bits) & ((1 << kFormat.exponent_bits) - 1);
  const auto fraction = static_cast<double>(code & ((1U << kFormat.fraction_bits) - 1));
  const int bias = (1 << (kFormat.exponent_bits - 1)) - 1;
  double value = 0;
  if (field == (1 << kFormat.exponent_bits) - 1) {
    value = fraction == 0 ? std::numeric_limits<double>::infinity()
                          : std::numeric_limits<double>::quiet_NaN();
  } else if (field == 0) {
    value = std::ldexp(fraction, 1 - bias - kFormat.fraction_bits);
  } else {
    value = std::ldexp(1 + std::ldexp(fraction, -kFormat.fraction_bits), field - bias);
  }
  return is_negative ? -value : value;
}

// Numbers of all sizes, ties of the format among them.
template <NarrowFormat kFormat>
double sample(RandomStream& random) {
  const auto code = static_cast<std::uint32_t>(random.next_below(kFormat.infinity()));
  const double low = meaning<kFormat>(code);
  const double high = code + 1 == kFormat.infinity() ? 2 * low - meaning<kFormat>(code - 1)
                                                     : meaning<kFormat>(code + 1);
  const double sign = random.next_below(2) == 0 ? 1 : -1;
  switch (random.next_below(4)) {
    case 0:
      return sign * (low + high) / 2;
    case 1:
      return sign * std::nextafter((low + high) / 2, random.next_below(2) == 0 ? low : high);
    case 2:
      return sign * low;
    default:
      return sign * (low + random.next_unit() * (high - low));
  }
}

// The neighbours of |x| among the format's numbers; the upper one may be at infinity's place.
template <NarrowFormat kFormat>
struct Neighbours {
  explicit Neighbours(double x) {
    // By bisection: codes are in the order of their meanings.
    std::uint32_t from = 0;
    std::uint32_t to = kFormat.infinity();
    while (to - from > 1) {
      const std::uint32_t middle = (from + to) / 2;
      (meaning<kFormat>(middle) <= x ? from : to) = middle;
    }
    low = from;
    below = x - meaning<kFormat>(low);
    const double next = low + 1 == kFormat.infinity()
                            ? 2 * meaning<kFormat>(low) - meaning<kFormat>(low - 1)
                            : meaning<kFormat>(low + 1);
    above = next - x;
  }
  std::uint32_t low = 0;
  double below = 0;
  double above = 0;
};

template <NarrowFormat kFormat>
std::uint32_t expected_nearest(double x) {
  const Neighbours<kFormat> near(std::abs(x));
  const bool is_up = near.above < near.below || (near.above == near.below && near.low % 2 == 1);
  return (near.low + (is_up ? 1 : 0)) | (std::signbit(x) ? kFormat.sign() : 0);
}

template <NarrowFormat kFormat>
void check_nearest(std::uint64_t seed) {
  RandomStream random(seed);
  int wrong = 0;
  for (int i = 0; i < kSamples; ++i) {
    const double x = sample<kFormat>(random);
    if (narrowed<kFormat>(x) != expected_nearest<kFormat>(x)) ++wrong;
  }
  CHECK(wrong == 0);
}

template <NarrowFormat kFormat>
void check_directed(std::uint64_t seed) {
  RandomStream random(seed);
  int wrong = 0;
  for (int i = 0; i < kSamples; ++i) {
    const double x = sample<kFormat>(random);
    const double cut = meaning<kFormat>(narrowed<kFormat, Rounding::kTowardsZero>(x));
    const double up = meaning<kFormat>(narrowed<kFormat, Rounding::kUp>(x));
    const double down = meaning<kFormat>(narrowed<kFormat, Rounding::kDown>(x));
    const double other = x < 0 ? down : up;
    const double nearest = meaning<kFormat>(narrowed<kFormat>(x));
    // The two directions enclose x, the one towards zero is one of them, and so is the nearest.
    const bool is_right = down <= x && x <= up && cut == (x < 0 ? up : down) &&
                          std::abs(cut) <= std::abs(x) && (nearest == cut || nearest == other);
    if (!is_right) ++wrong;
    // They are neighbours, or the same.
    const std::uint32_t between = narrowed<kFormat, Rounding::kUp>(x) & (kFormat.sign() - 1);
    const std::uint32_t and_down = narrowed<kFormat, Rounding::kDown>(x) & (kFormat.sign() - 1);
    if (std::max(between, and_down) - std::min(between, and_down) > 1) ++wrong;
  }
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("every 16-bit code widens to the value of its format") {
  const auto check = []<NarrowFormat kFormat>() {
    int wrong = 0;
    for (std::uint32_t code = 0; code < 1 << 16; ++code) {
      const double expected = meaning<kFormat>(code);
      const float widened_code = widened<kFormat>(code);
      const bool is_same = std::isnan(expected)
                               ? std::bit_cast<std::uint32_t>(widened_code) == 0x7fffffff
                               : std::bit_cast<std::uint64_t>(double{widened_code}) ==
                                     std::bit_cast<std::uint64_t>(expected);
      if (!is_same) ++wrong;
    }
    CHECK(wrong == 0);
  };
  check.operator()<kHalf>();
  check.operator()<kBfloat16>();
}

TEST_CASE("every 16-bit code converts to fp64 and back, NaN to the canonical code") {
  const auto check = []<NarrowFormat kFormat>() {
    int wrong = 0;
    for (std::uint32_t code = 0; code < 1 << 16; ++code) {
      const double value = meaning<kFormat>(code);
      if (narrowed<kFormat>(value) != (std::isnan(value) ? kFormat.nan() : code)) ++wrong;
    }
    CHECK(wrong == 0);
  };
  check.operator()<kHalf>();
  check.operator()<kBfloat16>();
}

TEST_CASE("rounding takes the nearest number, and of two as near the even one") {
  check_nearest<kHalf>(1);
  check_nearest<kBfloat16>(2);
  check_nearest<kE5m2>(3);
}

TEST_CASE("directed rounding takes the next number in its direction") {
  check_directed<kHalf>(4);
  check_directed<kBfloat16>(5);
}

TEST_CASE(
    "values that overflow become infinity, or the largest number if rounding stays below it") {
  const double above = 65520;  // half way between the largest half and the next power of two
  CHECK(narrowed<kHalf>(std::nextafter(above, 0.0)) == 0x7bff);
  CHECK(narrowed<kHalf>(above) == 0x7c00);
  CHECK(narrowed<kHalf>(-above) == 0xfc00);
  CHECK(narrowed<kHalf, Rounding::kTowardsZero>(1e30) == 0x7bff);
  CHECK(narrowed<kHalf, Rounding::kDown>(1e30) == 0x7bff);
  CHECK(narrowed<kHalf, Rounding::kUp>(1e30) == 0x7c00);
  CHECK(narrowed<kHalf, Rounding::kUp>(-1e30) == 0xfbff);
  CHECK(narrowed<kHalf, Rounding::kTowardsZero>(INFINITY) == 0x7c00);
}

TEST_CASE("the smallest numbers round to zero or to the smallest subnormal, with their sign") {
  CHECK(narrowed<kHalf>(0x1p-25) == 0);
  CHECK(narrowed<kHalf>(std::nextafter(0x1p-25, 1.0)) == 1);
  CHECK(narrowed<kHalf>(-0x1p-25) == 0x8000);
  CHECK(narrowed<kHalf>(0x1p-1074) == 0);
  CHECK(narrowed<kHalf, Rounding::kUp>(0x1p-1074) == 1);
  CHECK(narrowed<kHalf, Rounding::kDown>(-0x1p-1074) == 0x8001);
  CHECK(narrowed<kHalf, Rounding::kUp>(0.0) == 0);
  CHECK(narrowed<kHalf, Rounding::kDown>(-0.0) == 0x8000);
}

// All halves are multiples of 2^-24, and their products of 2^-48: sums are exact in 128 bits.
TEST_CASE("a fused multiply-add rounds once") {
  RandomStream random(6);
  const auto units = [](float x) { return static_cast<__int128>(std::ldexp(x, 24)); };
  int wrong = 0;
  int double_rounding_is_wrong = 0;
  for (int i = 0; i < kSamples; ++i) {
    const auto next = [&] {
      return widened<kHalf>(
          static_cast<std::uint32_t>(random.next_below(0x7c00) | random.next_below(2) << 15));
    };
    const float a = next();
    const float b = next();
    // Chosen so that the sum may be near a tie.
    const float c = i % 2 == 0 ? next() : std::ldexp(a * b * widened<kHalf>(0x3d55), 8);
    const float addend = widened<kHalf>(narrowed<kHalf>(c));
    if (std::isinf(addend)) continue;
    const __int128 exact = units(a) * units(b) + (units(addend) << 24);
    const std::uint16_t result = fused<kHalf>(a, b, addend);
    const double value = meaning<kHalf>(result);
    if (narrowed<kHalf>(a * b + addend) != result) ++double_rounding_is_wrong;
    if (std::isinf(value)) {
      // 65520 and more
      const __int128 limit = static_cast<__int128>(65520) << 48;
      if ((exact < 0 ? -exact : exact) < limit) ++wrong;
      continue;
    }
    const auto scaled = static_cast<__int128>(std::ldexp(value, 24)) << 24;
    const __int128 error = exact > scaled ? exact - scaled : scaled - exact;
    const std::uint32_t magnitude = result & 0x7fff;
    // Half a unit of the result, in the direction in which it is smaller; a tie must be even.
    const int unit_exponent = magnitude < 0x800 ? 24 : 24 + static_cast<int>(magnitude >> 10) - 1;
    const __int128 half_unit = static_cast<__int128>(1) << (unit_exponent - 1);
    const bool is_above_power = magnitude % 0x400 == 0 && magnitude >= 0x800;
    const bool is_towards_zero = (exact < 0 ? -exact : exact) < (scaled < 0 ? -scaled : scaled);
    const __int128 limit = is_above_power && is_towards_zero ? half_unit / 2 : half_unit;
    if (error > limit || (error == limit && magnitude % 2 == 1)) ++wrong;
  }
  CHECK(wrong == 0);
  // The sample has cases in which rounding to fp32 first gives a wrong result.
  CHECK(double_rounding_is_wrong > 0);
}

// 259 and 261 have nine bits: each lies half way between two bfloat16 numbers, and fp64 loses the
// 2^-120 beside them.
TEST_CASE("a fused multiply-add of bfloat16 uses bits that fp64 would round off") {
  const auto code = [](double x) { return narrowed<kBfloat16>(x); };
  CHECK(fused<kBfloat16>(7, 37, 0) == code(260));
  CHECK(fused<kBfloat16>(7, 37, 0x1p-120F) == code(260));
  CHECK(fused<kBfloat16>(7, 37, -0x1p-120F) == code(258));
  CHECK(fused<kBfloat16>(-7, 37, 0x1p-120F) == code(-258));
  CHECK(fused<kBfloat16>(9, 29, 0) == code(260));
  CHECK(fused<kBfloat16>(9, 29, 0x1p-120F) == code(262));
  CHECK(fused<kBfloat16>(9, 29, -0x1p-120F) == code(260));
  CHECK(fused<kBfloat16>(9, -29, -0x1p-120F) == code(-262));
}

TEST_CASE("a fused multiply-add gives infinities, NaN and zeros as IEEE 754 does") {
  const float infinity = std::numeric_limits<float>::infinity();
  CHECK(fused<kHalf>(infinity, 2, 1) == 0x7c00);
  CHECK(fused<kHalf>(infinity, 0, 1) == 0x7fff);
  CHECK(fused<kHalf>(infinity, 1, -infinity) == 0x7fff);
  CHECK(fused<kHalf>(60000, 2, 0) == 0x7c00);
  CHECK(fused<kHalf>(60000, 2, -60000) == narrowed<kHalf>(60000));
  CHECK(fused<kHalf>(1, 1, -1) == 0);
  CHECK(fused<kHalf>(-0.0F, 1, -0.0F) == 0x8000);
}

}  // namespace recto::simt::device

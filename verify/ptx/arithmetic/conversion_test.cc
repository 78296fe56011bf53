#include "verify/ptx/arithmetic/conversion.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "bazel/testing/catch.h"
#include "core/random_stream.h"
#include "verify/ptx/arithmetic/reference_rounding.h"

namespace recto::ptx {
namespace {

long double integral(long double x, Rounding rounding) {
  switch (rounding) {
    case Rounding::kZero:
      return std::trunc(x);
    case Rounding::kDown:
      return std::floor(x);
    case Rounding::kUp:
      return std::ceil(x);
    default: {
      const long double below = std::floor(x);
      if (x - below != 0.5L) return std::floor(x + 0.5L);
      return std::fmod(below, 2.0L) == 0 ? below : below + 1;
    }
  }
}

// Clamped in long double, which holds 64-bit integers exactly.
template <typename Integer, typename T>
Integer expected_integer(T x, Rounding rounding) {
  using Limits = std::numeric_limits<Integer>;
  if (x != x) {
    if (sizeof(T) == 4 && sizeof(Integer) < 8) return 0;
    return std::is_signed_v<Integer> ? Limits::min() : static_cast<Integer>(Limits::max() / 2 + 1);
  }
  const long double rounded = integral(x, rounding);
  if (rounded > static_cast<long double>(Limits::max())) return Limits::max();
  if (rounded < static_cast<long double>(Limits::min())) return Limits::min();
  return static_cast<Integer>(rounded);
}

template <typename T>
int wrong_integers(T x) {
  int wrong = 0;
  for (const Rounding rounding : kIeeeRoundings) {
    const auto check = [&]<typename Integer>(Integer) {
      wrong += to_integer<Integer>(x, rounding) != expected_integer<Integer>(x, rounding);
    };
    check(std::int8_t{});
    check(std::uint8_t{});
    check(std::int16_t{});
    check(std::uint16_t{});
    check(std::int32_t{});
    check(std::uint32_t{});
    check(std::int64_t{});
    check(std::uint64_t{});
    if (std::isfinite(x)) {
      const T rounded = rounded_to_integral(x, rounding);
      wrong += rounded != integral(x, rounding) || std::signbit(rounded) != std::signbit(x);
    }
  }
  return wrong;
}

// Random integers of all sizes.
template <typename Integer>
Integer drawn(RandomStream& random) {
  return static_cast<Integer>(random.next_u64() >> random.next_below(64));
}

}  // namespace

TEST_CASE("every f16 and bf16 number becomes the integers that rounding and clamping give") {
  int wrong = 0;
  for (std::uint32_t code = 0; code < 0x10000; ++code) {
    wrong += wrong_integers(widened<kF16>(code));
    wrong += wrong_integers(widened<kBf16>(code));
  }
  CHECK(wrong == 0);
}

TEST_CASE("f32 and f64 numbers become integers, near the limits of every type too") {
  int wrong = 0;
  for (int bits = 0; bits <= 66; ++bits) {
    const double power = std::ldexp(1.0, bits);
    for (const double base : {power, power - 0.5, power + 0.5, power - 1, power * 1.5}) {
      for (const double x : {base, std::nextafter(base, 0.0), std::nextafter(base, 1e300)}) {
        wrong += wrong_integers(x) + wrong_integers(-x);
        wrong += wrong_integers(static_cast<float>(x)) + wrong_integers(static_cast<float>(-x));
      }
    }
  }
  RandomStream random(1);
  for (int i = 0; i < 20000; ++i) {
    wrong += wrong_integers(float_of(static_cast<std::uint32_t>(random.next_u64())));
    wrong += wrong_integers(double_of(random.next_u64()));
    wrong +=
        wrong_integers(std::ldexp(random.next_unit(), static_cast<int>(random.next_below(70))));
  }
  CHECK(wrong == 0);
  // The comparison notices another rounding.
  CHECK(to_integer<int>(2.5F, Rounding::kNearestEven) !=
        expected_integer<int>(2.5F, Rounding::kUp));
}

TEST_CASE("NaN from f32 becomes 0 in up to 32 bits, and otherwise the highest bit") {
  CHECK(to_integer<std::int32_t>(NAN, Rounding::kZero) == 0);
  CHECK(to_integer<std::uint64_t>(NAN, Rounding::kZero) == std::uint64_t{1} << 63);
  CHECK(to_integer<std::int32_t>(double{NAN}, Rounding::kZero) == std::numeric_limits<int>::min());
  CHECK(to_integer<std::uint16_t>(double{NAN}, Rounding::kZero) == 0x8000);
}

// fp64 holds 53 bits, so an integer is compared with the numbers around it in long double.
TEST_CASE("integers become floating-point numbers, rounded once") {
  const FormatNumbers f16(kF16);
  const FormatNumbers bf16(kBf16);
  RandomStream random(2);
  int wrong = 0;
  for (int i = 0; i < 100000; ++i) {
    const Rounding rounding = kIeeeRoundings[i % 4];
    const FloatMode mode = {.rounding = rounding};
    const auto check = [&](auto x) {
      const auto exact = static_cast<long double>(x);
      const auto near = static_cast<double>(exact);
      const int error = exact > near ? 1 : exact < near ? -1 : 0;
      wrong += to_narrow<kF16>(x, mode) != f16.rounded(near, {.rounding = rounding}, error);
      wrong += to_narrow<kBf16>(x, mode) != bf16.rounded(near, {.rounding = rounding}, error);
      const double as_f64 = to_f64(x, mode);
      const long double rest = exact - as_f64;
      const bool is_near =
          std::abs(rest) < std::nextafter(std::abs(as_f64), INFINITY) - std::abs(as_f64);
      wrong += !is_near || (rounding == Rounding::kDown && rest < 0) ||
               (rounding == Rounding::kUp && rest > 0) ||
               (rounding == Rounding::kZero && rest * exact < 0) ||
               (rounding == Rounding::kNearestEven && as_f64 != near);
      const float as_f32 = to_f32(x, mode);
      const float nearest = static_cast<float>(exact);
      float expected = nearest;
      if (rounding == Rounding::kDown && nearest > exact)
        expected = std::nextafter(nearest, -INFINITY);
      if (rounding == Rounding::kUp && nearest < exact)
        expected = std::nextafter(nearest, INFINITY);
      if (rounding == Rounding::kZero &&
          std::abs(static_cast<long double>(nearest)) > std::abs(exact)) {
        expected = std::nextafter(nearest, 0.0F);
      }
      wrong += as_f32 != expected;
    };
    check(drawn<std::int64_t>(random));
    check(drawn<std::uint64_t>(random));
    check(drawn<std::int32_t>(random));
    check(drawn<std::uint32_t>(random));
    check(drawn<std::int16_t>(random));
    check(drawn<std::uint8_t>(random));
    check(std::numeric_limits<std::uint64_t>::max() - random.next_below(4096));
    check(std::numeric_limits<std::int64_t>::min() +
          static_cast<std::int64_t>(random.next_below(4096)));
  }
  CHECK(wrong == 0);
}

TEST_CASE("conversions between floating-point types apply .ftz to f32 alone") {
  const FloatMode flush = {.flush = true};
  CHECK(to_f32(1e-40, flush) == 0);
  CHECK(to_f32(1e-40, {}) > 0);
  CHECK(to_f64(1e-40F, flush) == 0);
  CHECK(to_f64(1e-40F, {}) > 0);
  CHECK(bits_of(to_f32(-1e-40F, flush)) == 0x80000000);
  CHECK(to_f32(1e-40F, {}) == 1e-40F);
  CHECK(to_f32(1.5, {.saturate = true}) == 1);
  CHECK(bits_of(to_f32(double{NAN}, {})) == kNan32);
  CHECK(to_narrow<kBf16>(1e-40F, flush) == 0);
  CHECK(to_narrow<kBf16>(1e-40F, {}) != 0);
}

TEST_CASE("every 16-bit number converts to every narrower format, alone and packed") {
  const FormatNumbers e4m3(kE4m3);
  const FormatNumbers e5m2(kE5m2);
  const FormatNumbers bf16(kBf16);
  const FloatMode mode = {.satfinite = true};
  int wrong = 0;
  for (std::uint32_t code = 0; code < 0x10000; ++code) {
    const float x = widened<kF16>(code);
    const float y = widened<kBf16>(code);
    const std::uint32_t halves = code << 16 | (code ^ 0x8000);
    const auto expected = [&](const FormatNumbers& numbers, float value) -> std::uint32_t {
      return std::isnan(value) ? 0x7f : numbers.rounded(value, {.satfinite = true});
    };
    wrong += repacked<kE4m3, kF16>(halves, mode) != (expected(e4m3, x) << 8 | expected(e4m3, -x));
    wrong += repacked<kE5m2, kF16>(halves, mode) != (expected(e5m2, x) << 8 | expected(e5m2, -x));
    wrong += repacked<kE4m3, kBf16>(halves, mode) != (expected(e4m3, y) << 8 | expected(e4m3, -y));
    wrong += packed<kE5m2>(y, -y, mode) != (expected(e5m2, y) << 8 | expected(e5m2, -y));
    for (const Rounding rounding : kIeeeRoundings) {
      if (std::isnan(x)) continue;
      wrong +=
          to_narrow<kBf16>(x, {.rounding = rounding}) != bf16.rounded(x, {.rounding = rounding});
      wrong += packed<kF16>(x, -x, {.rounding = rounding}) != halves;
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("every pair of 8-bit numbers unpacks to f16 exactly") {
  int wrong = 0;
  for (std::uint32_t pair = 0; pair < 0x10000; ++pair) {
    const std::uint32_t e4m3 = unpacked_to_f16x2<kE4m3>(pair, {});
    const std::uint32_t e5m2 = unpacked_to_f16x2<kE5m2>(pair, {});
    wrong += bits_of(widened<kF16>(e4m3 >> 16)) != bits_of(widened<kE4m3>(pair >> 8));
    wrong += bits_of(widened<kF16>(e4m3 & 0xffff)) != bits_of(widened<kE4m3>(pair & 0xff));
    wrong += bits_of(widened<kF16>(e5m2 >> 16)) != bits_of(widened<kE5m2>(pair >> 8));
  }
  CHECK(wrong == 0);
  CHECK(unpacked_to_f16x2<kE4m3>(0xb8'38, {.relu = true}) == 0x0000'3c00);
}

TEST_CASE("tf32 keeps the upper 19 bits") {
  CHECK(to_tf32(1 + 0x1p-11F, {.rounding = Rounding::kNearestAway}) == 0x3f802000);
  CHECK(to_tf32(1 + 0x1p-11F, {}) == 0x3f800000);
  CHECK(to_tf32(std::numeric_limits<float>::max(), {.rounding = Rounding::kNearestAway}) ==
        0x7f800000);
  CHECK(to_tf32(std::numeric_limits<float>::max(), {.satfinite = true}) == 0x7f7fe000);
  CHECK(to_tf32(-1.0F, {.relu = true}) == 0);
  CHECK(to_tf32(NAN, {}) == 0x7fffe000);
  CHECK(to_tf32(1e-42F, {.rounding = Rounding::kNearestAway}) == 0);
}

TEST_CASE("integers saturate to a narrower or differently signed type") {
  const auto check = []<typename To, typename From>(To, From x) {
    const auto wide = static_cast<__int128>(x);
    const auto low = static_cast<__int128>(std::numeric_limits<To>::min());
    const auto high = static_cast<__int128>(std::numeric_limits<To>::max());
    return saturated<To>(x) == static_cast<To>(wide < low ? low : wide > high ? high : wide);
  };
  RandomStream random(3);
  int wrong = 0;
  for (int i = 0; i < 20000; ++i) {
    const auto each_source = [&](auto to) {
      wrong += !check(to, drawn<std::int64_t>(random)) + !check(to, drawn<std::uint64_t>(random)) +
               !check(to, -drawn<std::int64_t>(random)) + !check(to, drawn<std::int32_t>(random)) +
               !check(to, drawn<std::uint32_t>(random)) + !check(to, drawn<std::int16_t>(random));
    };
    each_source(std::int8_t{});
    each_source(std::uint8_t{});
    each_source(std::int16_t{});
    each_source(std::uint16_t{});
    each_source(std::int32_t{});
    each_source(std::uint32_t{});
    each_source(std::int64_t{});
    each_source(std::uint64_t{});
  }
  CHECK(wrong == 0);
}

}  // namespace recto::ptx

#include "verify/ptx/arithmetic/integer_arithmetic.h"

#include <cstdint>
#include <limits>
#include <type_traits>

#include "bazel/testing/catch.h"
#include "core/random_stream.h"

namespace recto::ptx {
namespace {

// Random integers of all sizes, and the limits.
template <typename T>
T drawn(RandomStream& random) {
  using Limits = std::numeric_limits<T>;
  const T edges[] = {Limits::min(), Limits::max(), T{0}, T{1}, static_cast<T>(-1)};
  if (random.next_below(4) == 0) return edges[random.next_below(5)];
  const std::uint64_t bits = random.next_u64() >> random.next_below(64);
  return static_cast<T>(random.next_below(2) == 0 ? bits : ~bits);
}

// Calls check(a, b, c) with drawn operands of each integer type.
template <typename Check>
void for_each_type(Check check) {
  RandomStream random(1);
  const auto draw = [&]<typename T>(T) {
    for (int i = 0; i < 20000; ++i) {
      check(drawn<T>(random), drawn<T>(random), drawn<T>(random));
    }
  };
  draw(std::int16_t{});
  draw(std::uint16_t{});
  draw(std::int32_t{});
  draw(std::uint32_t{});
  draw(std::int64_t{});
  draw(std::uint64_t{});
}

// Exact for 32-bit operands; for 64-bit ones, by 32-bit digits (of unsigned numbers).
std::uint64_t upper_half(std::uint64_t a, std::uint64_t b) {
  const std::uint64_t low_a = a & 0xffffffff;
  const std::uint64_t low_b = b & 0xffffffff;
  const std::uint64_t middle = (a >> 32) * low_b + (low_a * low_b >> 32);
  const std::uint64_t other = low_a * (b >> 32) + (middle & 0xffffffff);
  return (a >> 32) * (b >> 32) + (middle >> 32) + (other >> 32);
}

}  // namespace

TEST_CASE("products give their lower, upper or wide part") {
  int wrong = 0;
  for_each_type([&]<typename T>(T a, T b, T) {
    if constexpr (sizeof(T) < 8) {
      const auto exact =
          static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
      wrong += mul_lo(a, b) != static_cast<T>(exact);
      wrong += mul_hi(a, b) != static_cast<T>(exact >> (8 * sizeof(T)));
      wrong += static_cast<std::int64_t>(mul_wide(a, b)) != exact;
    } else {
      wrong += mul_lo(a, b) !=
               static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
      // A negative factor counts as 2^64 more than it is.
      std::uint64_t upper =
          upper_half(static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(b));
      if (a < 0) upper -= static_cast<std::uint64_t>(b);
      if (b < 0) upper -= static_cast<std::uint64_t>(a);
      wrong += mul_hi(a, b) != static_cast<T>(upper);
    }
  });
  CHECK(wrong == 0);
  CHECK(mul_hi<std::int32_t>(-1, 1) == -1);
  CHECK(mul_hi<std::uint32_t>(0xffffffff, 1) == 0);
}

TEST_CASE("24-bit products ignore the upper 8 bits") {
  CHECK(mul24_lo<std::uint32_t>(0xff000003, 0xaa000005) == 15);
  CHECK(mul24_hi<std::uint32_t>(0x00ffffff, 0x00ffffff) == 0xfffffe00);
  CHECK(mul24_lo<std::int32_t>(0x00ffffff, 7) == -7);
  CHECK(mul24_hi<std::int32_t>(0x00ffffff, 7) == -1);
  CHECK(mul24_hi<std::int32_t>(0x007fffff, 0x007fffff) == 0x3fffff00);
}

TEST_CASE("carries and borrows make wider additions and subtractions") {
  RandomStream random(2);
  int wrong = 0;
  for (int i = 0; i < 20000; ++i) {
    const auto a = drawn<std::uint64_t>(random);
    const auto b = drawn<std::uint64_t>(random);
    const auto low = [](std::uint64_t x) { return static_cast<std::uint32_t>(x); };
    const auto high = [](std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); };
    const auto sum = add_carry(low(a), low(b), 0);
    const auto upper_sum = add_carry(high(a), high(b), sum.carry);
    wrong += (static_cast<std::uint64_t>(upper_sum.value) << 32 | sum.value) != a + b;
    wrong += upper_sum.carry != (a + b < a);
    const auto difference = sub_borrow(low(a), low(b), 0);
    const auto upper_difference = sub_borrow(high(a), high(b), difference.carry);
    wrong += (static_cast<std::uint64_t>(upper_difference.value) << 32 | difference.value) != a - b;
    wrong += upper_difference.carry != (a < b);
  }
  CHECK(wrong == 0);
  CHECK(add_carry<std::uint64_t>(~std::uint64_t{0}, 0, 1).carry == 1);
  CHECK(add_carry<std::uint32_t>(~0U, ~0U, 1).value == ~0U);
  CHECK(sub_borrow<std::uint32_t>(0, 0, 1).carry == 1);
}

TEST_CASE("sums saturate for s32") {
  CHECK(clamped_s32(std::int64_t{0x7fffffff} + 1) == 0x7fffffff);
  CHECK(clamped_s32(std::int64_t{-0x7fffffff} - 2) == std::numeric_limits<std::int32_t>::min());
  CHECK(clamped_s32(-5) == -5);
}

TEST_CASE("absolute differences wrap at the width") {
  int wrong = 0;
  for_each_type([&]<typename T>(T a, T b, T c) {
    const __int128 difference = static_cast<__int128>(a) - static_cast<__int128>(b);
    const __int128 exact = c + (difference < 0 ? -difference : difference);
    wrong += sad(a, b, c) != static_cast<T>(exact);
    wrong += abs_integer(a) != static_cast<T>(a < 0 ? -static_cast<__int128>(a) : a);
  });
  CHECK(wrong == 0);
}

TEST_CASE("quotients truncate, division by zero gives all bits, and the lowest number wraps") {
  int wrong = 0;
  for_each_type([&]<typename T>(T a, T b, T) {
    const T all = static_cast<T>(~std::make_unsigned_t<T>{0});
    const __int128 x = a;
    const __int128 y = b;
    wrong += div(a, b) != (b == 0 ? all : static_cast<T>(x / y));
    wrong += rem(a, b) != (b == 0 ? all : static_cast<T>(x % y));
  });
  CHECK(wrong == 0);
  CHECK(div<std::int32_t>(-7, 2) == -3);
  CHECK(rem<std::int32_t>(-7, 2) == -1);
}

TEST_CASE("dot products extend each element by its sign") {
  RandomStream random(3);
  int wrong = 0;
  for (int i = 0; i < 20000; ++i) {
    const auto a = static_cast<std::uint32_t>(random.next_u64());
    const auto b = static_cast<std::uint32_t>(random.next_u64());
    const auto c = static_cast<std::uint32_t>(random.next_u64());
    for (const Sign sign_a : {Sign::kUnsigned, Sign::kSigned}) {
      for (const Sign sign_b : {Sign::kUnsigned, Sign::kSigned}) {
        const auto byte = [](std::uint32_t word, int k, Sign sign) {
          const int x = static_cast<int>(word >> 8 * k) & 0xff;
          return sign == Sign::kSigned && x > 127 ? x - 256 : x;
        };
        const auto word = [&](int k) {
          const int x = static_cast<int>(a >> 16 * k) & 0xffff;
          return sign_a == Sign::kSigned && x > 32767 ? x - 65536 : x;
        };
        std::int64_t four = c;
        for (int k = 0; k < 4; ++k) four += byte(a, k, sign_a) * byte(b, k, sign_b);
        std::int64_t lower = c;
        std::int64_t upper = c;
        for (int k = 0; k < 2; ++k) {
          lower += std::int64_t{word(k)} * byte(b, k, sign_b);
          upper += std::int64_t{word(k)} * byte(b, 2 + k, sign_b);
        }
        const DotSigns signs = {sign_a, sign_b};
        wrong += dp4a(a, b, c, signs) != static_cast<std::uint32_t>(four);
        wrong += dp2a(a, b, c, signs, Half::kLower) != static_cast<std::uint32_t>(lower);
        wrong += dp2a(a, b, c, signs, Half::kUpper) != static_cast<std::uint32_t>(upper);
      }
    }
  }
  CHECK(wrong == 0);
  CHECK(dp4a(0xff, 0xff, 0, {Sign::kSigned, Sign::kUnsigned}) !=
        dp4a(0xff, 0xff, 0, {Sign::kUnsigned, Sign::kUnsigned}));
}

}  // namespace recto::ptx

// f16 and bf16.

#include <cstdint>

#include "bazel/testing/catch.h"
#include "core/random_stream.h"
#include "verify/ptx/arithmetic/float_arithmetic.h"
#include "verify/ptx/arithmetic/reference_rounding.h"

namespace recto::ptx {

// f16 numbers are multiples of 2^-24, so their products and sums are 128-bit integers in units of
// 2^-48. Of these, fp64 keeps the leading bits, and the sign of the rest is the error.
TEST_CASE("f16 sums, products and fused sums are the exact ones, rounded once") {
  const FormatNumbers numbers(kF16);
  const auto units = [&](std::uint32_t code) {
    const auto magnitude = static_cast<__int128>(numbers.value(code & 0x7fff) * 0x1p24);
    return (code & 0x8000) != 0 ? -magnitude : magnitude;
  };
  const auto expected = [&](__int128 exact, Rounding rounding) {
    const double near = static_cast<double>(exact);
    const __int128 rest = exact - static_cast<__int128>(near);
    return numbers.rounded(near * 0x1p-48, {.rounding = rounding},
                           rest > 0   ? 1
                           : rest < 0 ? -1
                                      : 0);
  };
  RandomStream random(3);
  int wrong = 0;
  int inexact = 0;
  for (int i = 0; i < 300000; ++i) {
    const auto a =
        static_cast<std::uint32_t>(random.next_below(0x7c00) | random.next_below(2) << 15);
    const auto b =
        static_cast<std::uint32_t>(random.next_below(0x7c00) | random.next_below(2) << 15);
    const auto c =
        static_cast<std::uint32_t>(random.next_below(0x7c00) | random.next_below(2) << 15);
    const Rounding rounding = kIeeeRoundings[i % 4];
    const FloatMode mode = {.rounding = rounding};
    const __int128 product = units(a) * units(b);
    const __int128 sum = (units(a) + units(b)) * (1 << 24);
    const __int128 fused = product + units(c) * (1 << 24);
    inexact += static_cast<__int128>(static_cast<double>(fused)) != fused;
    if (product != 0) wrong += mul<kF16>(a, b, mode) != expected(product, rounding);
    if (sum != 0) wrong += add<kF16>(a, b, mode) != expected(sum, rounding);
    if (fused != 0) wrong += fma<kF16>(a, b, c, mode) != expected(fused, rounding);
    wrong += sub<kF16>(a, b, mode) != add<kF16>(a, b ^ 0x8000, mode);
  }
  CHECK(wrong == 0);
  CHECK(inexact > 100);
}

TEST_CASE("bf16 fused sums are the exact ones, rounded once") {
  const FormatNumbers numbers(kBf16);
  RandomStream random(4);
  int wrong = 0;
  for (int i = 0; i < 300000; ++i) {
    // Exponents from -20 to 19: products are multiples of 2^-54, addends of 2^-27.
    const auto next = [&] {
      const auto exponent = static_cast<std::uint32_t>(107 + random.next_below(40));
      return exponent << 7 |
             static_cast<std::uint32_t>(random.next_below(128) | random.next_below(2) << 15);
    };
    const auto units = [&](std::uint32_t code) {
      const auto magnitude = static_cast<__int128>(numbers.value(code & 0x7fff) * 0x1p27);
      return (code & 0x8000) != 0 ? -magnitude : magnitude;
    };
    const std::uint32_t a = next();
    const std::uint32_t b = next();
    const std::uint32_t c = next();
    const __int128 exact = units(a) * units(b) + units(c) * (1 << 27);
    if (exact == 0) continue;
    const double near = static_cast<double>(exact);
    const __int128 rest = exact - static_cast<__int128>(near);
    const Rounding rounding = kIeeeRoundings[i % 4];
    const std::uint32_t expected = numbers.rounded(near * 0x1p-54, {.rounding = rounding},
                                                   rest > 0   ? 1
                                                   : rest < 0 ? -1
                                                              : 0);
    wrong += fma<kBf16>(a, b, c, {.rounding = rounding}) != expected;
  }
  CHECK(wrong == 0);
}

TEST_CASE("16-bit fused sums are not rounded twice") {
  const std::uint32_t half_way = 0x3b80;  // 2^-8, half the last bit of 1
  const std::uint32_t tiny = 0x1c80;      // 2^-70
  CHECK(fma<kBf16>(half_way, 0x3f81, 0x3f80, {}) == 0x3f81);
  CHECK(fma<kBf16>(0x3f80, half_way, 0x3f80, {}) == 0x3f80);
  // 3 * 87 = 261 is half-way between bf16 numbers; the addend decides, which fp64 drops.
  CHECK(widened<kBf16>(fma<kBf16>(0x4040, 0x42ae, tiny, {})) == 262);
  CHECK(widened<kBf16>(fma<kBf16>(0x4040, 0x42ae, tiny | 0x8000, {})) == 260);
}

TEST_CASE("16-bit subnormals are kept, or flushed with .ftz") {
  CHECK(add<kF16>(1, 1, {}) == 2);
  CHECK(add<kF16>(1, 1, {.flush = true}) == 0);
  CHECK(mul<kF16>(0x8400, 0x3800, {}) == 0x8200);
  CHECK(mul<kF16>(0x8400, 0x3800, {.flush = true}) == 0x8000);
  CHECK(add<kBf16>(1, 2, {}) == 3);
  CHECK(neg<kF16>(0x0001, {.flush = true}) == 0x8000);
  CHECK(abs<kF16>(0x8001, {}) == 0x0001);
  CHECK(fma<kF16>(0xbc00, 0x3c00, 0, {.relu = true}) == 0);
  CHECK(fma<kF16>(0x3c00, 0x4000, 0, {.saturate = true}) == 0x3c00);
}

TEST_CASE("halves of a register are computed apart") {
  const auto sum = [](std::uint32_t a, std::uint32_t b) { return add<kF16>(a, b, {}); };
  CHECK(each_half(sum, 0x3c00'7bffU, 0x3c00'7bffU) == 0x4000'7c00);
  CHECK(each_half([](std::uint32_t a) { return a + 1; }, 0x0001'ffffU) == 0x0002'0000);
}

}  // namespace recto::ptx

// Inline PTX against arithmetic in long double, which is exact for halves, rounded by search.

#include "verify/simt/foreign/inline_ptx.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "bazel/testing/catch.h"
#include "core/random_stream.h"

namespace simt_foreign {
namespace {

using recto::RandomStream;

// A finite half from its bits, by its definition.
long double value_of(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const int fraction = bits & 1023;
  const long double magnitude =
      exponent == 0 ? std::ldexp(static_cast<long double>(fraction), -24)
                    : std::ldexp(static_cast<long double>(1024 + fraction), exponent - 25);
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

bool is_finite(std::uint16_t bits) { return (bits >> 10 & 31) != 31; }

// The half nearest to a number; of two equally near halves, the even one.
std::uint16_t nearest_half(long double value) {
  const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const long double magnitude = std::fabs(value);
  std::uint16_t low = 0;
  std::uint16_t high = 0x7c00;  // 2^16; from half of the last step on, halves overflow
  const auto of = [](std::uint16_t bits) { return bits == 0x7c00 ? 65536.0L : value_of(bits); };
  while (high - low > 1) {
    const auto middle = static_cast<std::uint16_t>((low + high) / 2);
    (of(middle) <= magnitude ? low : high) = middle;
  }
  const long double below = magnitude - of(low);
  const long double above = of(high) - magnitude;
  const bool takes_low = below < above || (below == above && low % 2 == 0);
  return static_cast<std::uint16_t>(sign | (takes_low ? low : high));
}

std::uint16_t finite_half(RandomStream& stream) {
  for (;;) {
    const auto bits = static_cast<std::uint16_t>(stream.next_u64());
    if (is_finite(bits)) return bits;
  }
}

template <PtxText kText>
std::uint16_t run_on_three(std::uint16_t a, std::uint16_t b, std::uint16_t c) {
  std::uint16_t result = 0xdead;
  inline_ptx<kText>(written(result), read(a), read(b), read(c));
  return result;
}

TEST_CASE("arithmetic of halves is rounded once, to nearest even") {
  RandomStream stream(11);
  for (int i = 0; i < 200000; ++i) {
    const std::uint16_t a = finite_half(stream);
    const std::uint16_t b = finite_half(stream);
    const std::uint16_t c = finite_half(stream);
    const long double x = value_of(a);
    const long double y = value_of(b);
    const long double z = value_of(c);
    REQUIRE(run_on_three<"mul.f16 %0, %1, %2;">(a, b, c) == nearest_half(x * y));
    REQUIRE(value_of(run_on_three<"add.f16 %0, %1, %2;">(a, b, c) & 0x7fff) ==
            value_of(nearest_half(x + y) & 0x7fff));
    REQUIRE(value_of(run_on_three<"sub.f16 %0, %1, %2;">(a, b, c) & 0x7fff) ==
            value_of(nearest_half(x - y) & 0x7fff));
    REQUIRE((run_on_three<"fma.rn.f16 %0, %1, %2, %3;">(a, b, c) & 0x7fff) ==
            (nearest_half(x * y + z) & 0x7fff));
  }
}

TEST_CASE("two halves in one register are computed apart") {
  RandomStream stream(12);
  for (int i = 0; i < 20000; ++i) {
    const std::uint16_t a[2] = {finite_half(stream), finite_half(stream)};
    const std::uint16_t b[2] = {finite_half(stream), finite_half(stream)};
    const auto both = [](const std::uint16_t* h) {
      return h[0] | static_cast<std::uint32_t>(h[1]) << 16;
    };
    std::uint32_t product = 0;
    inline_ptx<"mul.f16x2 %0, %1, %2;\n">(written(product), read(both(a)), read(both(b)));
    CHECK((product & 0xffff) == nearest_half(value_of(a[0]) * value_of(b[0])));
    CHECK(product >> 16 == nearest_half(value_of(a[1]) * value_of(b[1])));
  }
}

TEST_CASE("conversions go both ways, and the first source of a pair goes up") {
  for (unsigned bits = 0; bits < 0x7c00; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    float value = 0;
    std::uint16_t back = 0;
    inline_ptx<"cvt.f32.f16 %0, %1;">(written(value), read(half));
    inline_ptx<"cvt.rn.f16.f32 %0, %1;">(written(back), read(value));
    REQUIRE(static_cast<long double>(value) == value_of(half));
    REQUIRE(back == half);
  }
  std::uint32_t pair = 0;
  inline_ptx<"cvt.rn.f16x2.f32 %0, %1, %2;">(written(pair), read(2.0F), read(1.0F));
  CHECK(pair == 0x40003c00);
}

TEST_CASE("registers, scopes, vectors and immediate numbers") {
  std::uint32_t pair = 0;
  inline_ptx<"{\n  .reg .b16 one;\n  mov.b16 one, 0x3c00;\n  mov.b32 %0, {one, %1};\n}\n">(
      written(pair), read(std::uint16_t{0x4000}));
  CHECK(pair == 0x40003c00);
  std::uint16_t low = 0;
  std::uint16_t high = 0;
  inline_ptx<"mov.b32 {%0, %1}, %2;">(written(low), written(high), read(pair));
  CHECK(low == 0x3c00);
  CHECK(high == 0x4000);
  float sum = 1.0F;
  inline_ptx<"add.f32 %0, %0, 0f40000000;">(changed(sum));
  CHECK(sum == 3.0F);
}

TEST_CASE("a vector is as wide as its instruction") {
  std::uint64_t both = 0;
  inline_ptx<"mov.b64 %0, {%1, %2};">(written(both), read(0x11223344U), read(0x55667788U));
  CHECK(both == 0x5566778811223344U);
  inline_ptx<"mov.b64 %0, {%1, %2, %3, %4};">(written(both), read(std::uint16_t{1}),
                                              read(std::uint16_t{2}), read(std::uint16_t{3}),
                                              read(std::uint16_t{0xffff}));
  CHECK(both == 0xffff000300020001U);
  std::uint32_t low = 0;
  std::uint32_t high = 0;
  inline_ptx<"mov.b64 {%0, %1}, %2;">(written(low), written(high),
                                      read(std::uint64_t{0x5566778811223344U}));
  CHECK(low == 0x11223344U);
  CHECK(high == 0x55667788U);
}

TEST_CASE("numbers may be negative") {
  std::uint32_t bits = 0;
  inline_ptx<"mov.b32 %0, -1;">(written(bits));
  CHECK(bits == 0xffffffffU);
  inline_ptx<"mov.u32 %0, -0x10;">(written(bits));
  CHECK(bits == 0xfffffff0U);
  std::uint64_t wide = 0;
  inline_ptx<"mov.b64 %0, -2;">(written(wide));
  CHECK(wide == 0xfffffffffffffffeU);
}

TEST_CASE("operands are what the statement gives, declared registers, and numbers") {
  static_assert(has_known_ptx_operands("mov.b32 %0, -1;", 1));
  static_assert(!has_known_ptx_operands("mov.b32 %0, --1;", 1));
  static_assert(!has_known_ptx_operands("mov.b32 %0, 017;", 1));  // octal
  static_assert(!has_known_ptx_operands("mov.b32 %0, 1.0;", 1));
  static_assert(!has_known_ptx_operands("mov.f32 %0, 0f3f80;", 1));
  static_assert(!has_known_ptx_operands("mov.b32 1, %0;", 1));
  static_assert(has_known_ptx_operands("mov.b32 %0, %1;", 2));
  static_assert(!has_known_ptx_operands("mov.b32 %0, %1;", 1));
  static_assert(!has_known_ptx_operands("mov.u32 %0, %laneid;", 1));
  static_assert(!has_known_ptx_operands("mov.b32 %0, %1, %1;", 2));
  static_assert(!has_known_ptx_operands("fma.rn.f16 %0, %1, %1;", 2));
  static_assert(has_known_ptx_operands("{.reg .b16 lo, hi; mov.b32 {lo,hi}, %0;}", 1));
  static_assert(!has_known_ptx_operands("{.reg .b16 lo, hi; mov.b32 {lo,h}, %0;}", 1));
  static_assert(!has_known_ptx_operands("mov.b32 {%0, 1}, %1;", 2));
  static_assert(!has_known_ptx_operands("add.f16 %0, {%1, %1}, %1;", 2));
  static_assert(has_known_ptx_operands(".reg .f32 f<3>; mov.f32 f2, %0;", 1));
  static_assert(!has_known_ptx_operands(".reg .f32 f<3>; mov.f32 f3, %0;", 1));
  static_assert(has_known_ptx_operands(".reg .f32 %f<3>; mov.f32 %f0, %0;", 1));
  float sum = 1.0F;
  inline_ptx<".reg .f32 %f<2>; mov.f32 %f1, %0; add.f32 %0, %f1, %f1;">(changed(sum));
  CHECK(sum == 2.0F);
}

// The tainted bits of %0 after `text`, if the operands have these tainted bits before.
std::uint64_t tainted_after(std::string_view text, std::vector<std::uint64_t> tainted) {
  std::vector<PtxOperand> operands;
  for (const std::uint64_t bits : tainted) operands.push_back({.bytes = 8, .tainted = bits});
  run_ptx(text, operands);
  return operands[0].tainted;
}

TEST_CASE("taint goes from sources to results, half by half") {
  CHECK(tainted_after("fma.rn.f16x2 %0, %1, %2, %3;", {0xff, 0, 0, 0}) == 0);
  CHECK(tainted_after("fma.rn.f16x2 %0, %1, %2, %3;", {0, 0, 0xff, 0}) == 0xffff);
  CHECK(tainted_after("fma.rn.f16x2 %0, %1, %2, %3;", {0, 0, 0, 0xff000000}) == 0xffff0000);
  CHECK(tainted_after("add.f16 %0, %1, %2;", {0, 0xff0000, 0}) == 0);
  CHECK(tainted_after("mul.f32 %0, %1, %2;", {0, 0, 0xff}) == 0xffffffff);
  CHECK(tainted_after("cvt.f32.f16 %0, %1;", {0, 0xff00}) == 0xffffffff);
  CHECK(tainted_after("cvt.rn.f16.f32 %0, %1;", {0, 0xff000000}) == 0xffff);
  CHECK(tainted_after("cvt.rn.f16x2.f32 %0, %1, %2;", {0, 0xff, 0}) == 0xffff0000);
  CHECK(tainted_after("cvt.rn.f16x2.f32 %0, %1, %2;", {0, 0, 0xff}) == 0xffff);
  CHECK(tainted_after("{.reg .b16 low, high; mov.b32 {low, high}, %1; mov.b32 %0, {high, low};}",
                      {0, 0xff}) == 0xff0000);
}

TEST_CASE("what is not in the table is not known") {
  static_assert(is_known_ptx("mul.f16 %0, %1, %2;"));
  static_assert(!is_known_ptx("mul.f64 %0, %1, %2;"));
  static_assert(!is_known_ptx("mul.f16 %0, %1, %2; bar.sync 0;"));
  static_assert(!is_known_ptx("@p mov.b32 %0, %1;"));
  static_assert(is_known_ptx(""));
  CHECK(find_ptx("fma.rn.f16x2")->operation == PtxOperation::kMultiplyAdd);
  CHECK(find_ptx("fma.rn.f16x2")->type == PtxType::kF16x2);
}

}  // namespace
}  // namespace simt_foreign

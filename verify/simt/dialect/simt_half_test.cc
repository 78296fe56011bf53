#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "bazel/testing/catch.h"
#include "core/random_stream.h"
#include "verify/simt/dialect/simt_half.h"
#include "verify/simt/dialect/simt_half_arithmetic.h"
#include "verify/simt/dialect/simt_half_comparison.h"

namespace recto {
namespace {

static_assert(std::is_trivial_v<__half> && sizeof(__half) == 2 && alignof(__half) == 2);
static_assert(std::is_trivial_v<__half2> && sizeof(__half2) == 4 && alignof(__half2) == 4);
static_assert(std::is_trivial_v<__nv_bfloat16> && sizeof(__nv_bfloat16) == 2);
static_assert(std::is_trivial_v<__nv_bfloat162> && alignof(__nv_bfloat162) == 4);

std::uint32_t code_of(__half x) { return __half_as_ushort(x); }
std::uint32_t code_of(__nv_bfloat16 x) { return __bfloat16_as_ushort(x); }

template <typename T>
T with_code(std::uint64_t code) {
  if constexpr (std::is_same_v<T, __half>) {
    return __ushort_as_half(static_cast<unsigned short>(code));
  } else {
    return __ushort_as_bfloat16(static_cast<unsigned short>(code));
  }
}

template <typename T>
T rounded(double x) {
  if constexpr (std::is_same_v<T, __half>) {
    return __double2half(x);
  } else {
    return __double2bfloat16(x);
  }
}

// All pairs of special numbers, then random ones.
template <typename T, typename Check>
void for_pairs(Check check) {
  const std::array<T, 12> special = {T(0.0F),       T(-0.0F),        T(1.0F),
                                     T(-1.0F),      T(INFINITY),     T(-INFINITY),
                                     T(NAN),        with_code<T>(1), with_code<T>(0x8001),
                                     T(1.0009765F), T(60000.0F),     with_code<T>(0xffff)};
  for (const T a : special) {
    for (const T b : special) check(a, b);
  }
  RandomStream random(11);
  for (int i = 0; i < 100000; ++i) {
    const std::uint64_t bits = random.next_u64();
    check(with_code<T>(bits), with_code<T>(bits >> 16));
  }
}

// fp64 holds sums, products and quotients closely enough that rounding them again is right.
template <typename T>
void check_arithmetic() {
  int wrong = 0;
  for_pairs<T>([&](T a, T b) {
    const double x = float{a};
    const double y = float{b};
    const auto is = [](T result, double expected) {
      return code_of(result) == code_of(rounded<T>(expected));
    };
    if (!is(__hadd(a, b), x + y) || !is(__hsub(a, b), x - y) || !is(__hmul(a, b), x * y) ||
        !is(__hdiv(a, b), x / y) || !is(a + b, x + y) || !is(a * b, x * y)) {
      ++wrong;
    }
    T sum = a;
    sum += b;
    if (code_of(sum) != code_of(a + b)) ++wrong;
    const float saturated = __hmul_sat(a, b);
    const float product = __hmul(a, b);
    if (saturated != (product >= 1 ? 1 : product > 0 ? product : 0)) ++wrong;
  });
  CHECK(wrong == 0);
}

template <typename T>
void check_comparisons() {
  int wrong = 0;
  for_pairs<T>([&](T a, T b) {
    const float x = a;
    const float y = b;
    const bool has_nan = std::isnan(x) || std::isnan(y);
    const auto is = [&](bool ordered, bool unordered, bool relation) {
      return ordered == (relation && !has_nan) && unordered == (relation || has_nan);
    };
    const bool is_right =
        is(__heq(a, b), __hequ(a, b), x == y) && is(__hne(a, b), __hneu(a, b), x != y) &&
        is(__hlt(a, b), __hltu(a, b), x < y) && is(__hle(a, b), __hleu(a, b), x <= y) &&
        is(__hgt(a, b), __hgtu(a, b), x > y) && is(__hge(a, b), __hgeu(a, b), x >= y) &&
        __hisnan(a) == std::isnan(x) && (__hisinf(a) != 0) == std::isinf(x);
    if (!is_right) ++wrong;
  });
  CHECK(wrong == 0);
}

template <typename T>
void check_extremes() {
  const std::uint32_t nan = 0x7fff;
  int wrong = 0;
  for_pairs<T>([&](T a, T b) {
    const bool a_is_nan = std::isnan(float{a});
    const bool b_is_nan = std::isnan(float{b});
    std::uint32_t larger = code_of(b_is_nan || float{a} > float{b} ? a : b);
    std::uint32_t smaller = code_of(b_is_nan || float{a} < float{b} ? a : b);
    if (float{a} == 0 && float{b} == 0) {
      larger = code_of(a) & code_of(b);
      smaller = code_of(a) | code_of(b);
    }
    if (a_is_nan && b_is_nan) larger = smaller = nan;
    if (code_of(__hmax(a, b)) != larger || code_of(__hmin(a, b)) != smaller) ++wrong;
    const bool has_nan = a_is_nan || b_is_nan;
    if (code_of(__hmax_nan(a, b)) != (has_nan ? nan : larger)) ++wrong;
    if (code_of(__hmin_nan(a, b)) != (has_nan ? nan : smaller)) ++wrong;
  });
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("arithmetic of half rounds once") { check_arithmetic<__half>(); }
TEST_CASE("arithmetic of bfloat16 rounds once") { check_arithmetic<__nv_bfloat16>(); }

TEST_CASE("comparisons of half with NaN are false, and unordered ones true") {
  check_comparisons<__half>();
}
TEST_CASE("comparisons of bfloat16 with NaN are false, and unordered ones true") {
  check_comparisons<__nv_bfloat16>();
}

TEST_CASE("max and min of half drop NaN, or keep it, and know the sign of zero") {
  check_extremes<__half>();
}
TEST_CASE("max and min of bfloat16 drop NaN, or keep it, and know the sign of zero") {
  check_extremes<__nv_bfloat16>();
}

TEST_CASE("negation and magnitude change the sign alone, and NaN is canonical") {
  CHECK(code_of(__hneg(__half(1.0F))) == 0xbc00);
  CHECK(code_of(-__half(-0.0F)) == 0);
  CHECK(code_of(__habs(__nv_bfloat16(-2.0F))) == 0x4000);
  CHECK(code_of(__hneg(with_code<__half>(0x7c01))) == 0x7fff);
  CHECK(code_of(__habs(with_code<__half>(0xfc01))) == 0x7fff);
}

TEST_CASE("operations on pairs are those on their elements") {
  const __half2 a = __floats2half2_rn(1.5F, -2.0F);
  const __half2 b = __float22half2_rn({3.0F, 0.25F});
  const auto is = [](__half2 pair, float low, float high) {
    return __low2float(pair) == low && __high2float(pair) == high;
  };
  CHECK(is(__hadd2(a, b), 4.5F, -1.75F));
  CHECK(is(__hsub2(a, b), -1.5F, -2.25F));
  CHECK(is(__hmul2(a, b), 4.5F, -0.5F));
  CHECK(is(__h2div(a, b), 0.5F, -8.0F));
  CHECK(is(__hfma2(a, b, b), 7.5F, -0.25F));
  CHECK(is(__hfma2_relu(a, b, b), 7.5F, 0.0F));
  CHECK(is(__hmax2(a, b), 3.0F, 0.25F));
  CHECK(is(__hmin2(a, b), 1.5F, -2.0F));
  CHECK(is(__hneg2(a), -1.5F, 2.0F));
  CHECK(is(__habs2(a), 1.5F, 2.0F));
  CHECK(is(__hlt2(a, b), 1.0F, 1.0F));
  CHECK(is(__hgt2(a, b), 0.0F, 0.0F));
  CHECK(__hblt2(a, b));
  CHECK(!__hbeq2(a, b));
  CHECK(is(__lowhigh2highlow(a), -2.0F, 1.5F));
  CHECK(is(__lows2half2(a, b), 1.5F, 3.0F));
  CHECK(is(__highs2half2(a, b), -2.0F, 0.25F));
  CHECK(is(__low2half2(a), 1.5F, 1.5F));
  CHECK(is(__halves2half2(__high2half(a), __low2half(b)), -2.0F, 3.0F));
  const float2 back = __half22float2(a);
  CHECK(back.x == 1.5F);
  CHECK(back.y == -2.0F);
  const __nv_bfloat162 c = __float22bfloat162_rn({1.5F, -2.0F});
  CHECK(__low2float(c * __float2bfloat162_rn(2.0F)) == 3.0F);
  CHECK(__bfloat1622float2(c).y == -2.0F);
}

TEST_CASE("integers convert with one rounding") {
  CHECK(code_of(__int2half_rn(2049)) == code_of(__half(2048.0F)));
  CHECK(code_of(__uint2half_rn(70000)) == 0x7c00);
  // A tie of bfloat16, plus one: fp32 would lose the one.
  CHECK(code_of(__int2bfloat16_rn((1 << 30) + (1 << 22))) == code_of(__nv_bfloat16(0x1p30F)));
  CHECK(code_of(__int2bfloat16_rn((1 << 30) + (1 << 22) + 1)) ==
        code_of(__nv_bfloat16(0x1.02p30F)));
  CHECK(__half(3) + __half(4.0) == __half(7.0F));
}

}  // namespace recto

#include "verify/simt/dialect/simt_integer.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "bazel/testing/catch.h"
#include "core/random_stream.h"
#include "verify/simt/dialect/simt_math.h"

namespace recto {
namespace {

constexpr int kSamples = 20000;

unsigned next_word(RandomStream& random) {
  const auto word = static_cast<unsigned>(random.next_u64());
  return word >> random.next_below(33) % 32;  // numbers of all lengths
}

unsigned bit_of(unsigned word, int index) { return word >> index & 1; }

}  // namespace

TEST_CASE("bits are counted and reversed") {
  RandomStream random(1);
  for (int i = 0; i < kSamples; ++i) {
    const unsigned x = next_word(random);
    unsigned reversed = 0;
    int set = 0;
    int highest = -1;
    int lowest = -1;
    for (int bit = 0; bit < 32; ++bit) {
      if (bit_of(x, bit) == 0) continue;
      reversed |= 1U << (31 - bit);
      ++set;
      highest = bit;
      if (lowest < 0) lowest = bit;
    }
    REQUIRE(__brev(x) == reversed);
    REQUIRE(__popc(x) == set);
    REQUIRE(__clz(static_cast<int>(x)) == 31 - highest);
    REQUIRE(__ffs(static_cast<int>(x)) == lowest + 1);
  }
  CHECK(__clzll(1) == 63);
  CHECK(__clzll(0) == 64);
  CHECK(__ffsll(1LL << 40) == 41);
  CHECK(__popcll(~0ULL) == 64);
  CHECK(__brevll(1) == 1ULL << 63);
}

TEST_CASE("__byte_perm selects bytes by the lowest three bits of each digit") {
  CHECK(__byte_perm(0x33221100, 0x77665544, 0x3210) == 0x33221100);
  CHECK(__byte_perm(0x33221100, 0x77665544, 0x7654) == 0x77665544);
  CHECK(__byte_perm(0x33221100, 0x77665544, 0x0246) == 0x00224466);
  CHECK(__byte_perm(0x33221100, 0x776655c4, 0xcccc) == 0xc4c4c4c4);
}

TEST_CASE("upper halves of products are those of the whole product") {
  RandomStream random(2);
  for (int i = 0; i < kSamples; ++i) {
    const unsigned a = next_word(random);
    const unsigned b = next_word(random);
    const auto sa = static_cast<int>(a);
    const auto sb = static_cast<int>(b);
    REQUIRE(__umulhi(a, b) == static_cast<unsigned>((std::uint64_t{a} * b) >> 32));
    REQUIRE(__mulhi(sa, sb) == static_cast<int>((std::int64_t{sa} * sb) >> 32));
    REQUIRE(__umul24(a, b) == static_cast<unsigned>((a & 0xffffffU) * (b & 0xffffffU)));
  }
  CHECK(__umul64hi(~0ULL, ~0ULL) == ~0ULL - 1);
  CHECK(__mul64hi(-1, 1) == -1);
  CHECK(__mul24(-3, 5) == -15);
  CHECK(__mul24(0x1000003, 5) == 15);
  CHECK(__mul24(0x800000, 2) == -0x1000000);
}

TEST_CASE("funnel shifts take 32 bits out of 64") {
  for (unsigned shift = 0; shift < 70; ++shift) {
    const std::uint64_t both = 0x0123456789abcdef;
    const auto low = static_cast<unsigned>(both);
    const auto high = static_cast<unsigned>(both >> 32);
    const unsigned wrapped = shift % 32;
    const unsigned clamped = shift < 32 ? shift : 32;
    CHECK(__funnelshift_l(low, high, shift) == static_cast<unsigned>(both << wrapped >> 32));
    CHECK(__funnelshift_r(low, high, shift) == static_cast<unsigned>(both >> wrapped));
    CHECK(__funnelshift_lc(low, high, shift) == static_cast<unsigned>(both << clamped >> 32));
    CHECK(__funnelshift_rc(low, high, shift) == static_cast<unsigned>(both >> clamped));
  }
}

TEST_CASE("averages do not overflow") {
  const int most = std::numeric_limits<int>::max();
  CHECK(__hadd(most, most) == most);
  CHECK(__hadd(-1, 0) == -1);
  CHECK(__rhadd(-1, 0) == 0);
  CHECK(__uhadd(~0U, ~0U - 1) == ~0U - 1);
  CHECK(__urhadd(~0U, ~0U - 1) == ~0U);
}

TEST_CASE("absolute differences do not overflow, their sums do") {
  const int least = std::numeric_limits<int>::min();
  const int most = std::numeric_limits<int>::max();
  CHECK(__sad(3, -4, 10U) == 17U);
  CHECK(__sad(-4, 3, 0U) == 7U);
  CHECK(__sad(least, most, 0U) == ~0U);
  CHECK(__sad(most, least, 2U) == 1U);
  CHECK(__usad(~0U, 1U, 1U) == ~0U);
  CHECK(__usad(1U, ~0U, 3U) == 1U);
}

TEST_CASE("conversions to integers round in the direction of their name, and saturate") {
  CHECK(__float2int_rn(2.5F) == 2);
  CHECK(__float2int_rn(-3.5F) == -4);
  CHECK(__float2int_rz(-3.9F) == -3);
  CHECK(__float2int_ru(3.1F) == 4);
  CHECK(__float2int_rd(-3.1F) == -4);
  CHECK(__float2int_rn(3e9F) == std::numeric_limits<int>::max());
  CHECK(__float2int_rn(-INFINITY) == std::numeric_limits<int>::min());
  CHECK(__float2int_rn(NAN) == 0);
  CHECK(__float2uint_rn(-1.0F) == 0);
  CHECK(__float2uint_rz(4294967040.0F) == 4294967040U);
  CHECK(__float2uint_rz(5e9F) == ~0U);
  CHECK(__float2ll_rn(1e30F) == std::numeric_limits<long long>::max());
  CHECK(__float2ll_rn(NAN) == std::numeric_limits<long long>::min());
  CHECK(__double2int_rn(2147483646.5) == 2147483646);
  CHECK(__double2ull_rz(1e19) == 10000000000000000000ULL);
  CHECK(__int2float_rn(16777217) == 16777216.0F);
  CHECK(__uint2float_rn(~0U) == 0x1p32F);
  CHECK(__double2float_rn(1 + 0x1p-24) == 1.0F);
}

TEST_CASE("casts keep bits") {
  CHECK(__float_as_uint(-0.0F) == 0x80000000);
  CHECK(__float_as_int(1.0F) == 0x3f800000);
  CHECK(__uint_as_float(0x7f800000) == INFINITY);
  CHECK(__int_as_float(0x3f800000) == 1.0F);
  CHECK(__longlong_as_double(__double_as_longlong(-2.5)) == -2.5);
}

TEST_CASE("max and min of mixed integers have the type of their sum") {
  static_assert(std::is_same_v<decltype(max(1, 2U)), unsigned>);
  static_assert(std::is_same_v<decltype(min(1, 2LL)), long long>);
  CHECK(max(-1, 2U) == ~0U);
  CHECK(min(-1, 2) == -1);
  CHECK(max(short{3}, 4) == 4);
}

TEST_CASE("max and min of numbers drop NaN and know the sign of zero") {
  CHECK(fmaxf(NAN, 1.0F) == 1.0F);
  CHECK(fminf(1.0F, NAN) == 1.0F);
  CHECK(std::isnan(fmaxf(NAN, NAN)));
  for (const bool is_swapped : {false, true}) {
    const float a = is_swapped ? 0.0F : -0.0F;
    const float b = is_swapped ? -0.0F : 0.0F;
    CHECK(!std::signbit(fmaxf(a, b)));
    CHECK(std::signbit(fminf(a, b)));
  }
  CHECK(max(1.0F, 2.0) == 2.0);
  CHECK(min(-INFINITY, 2.0F) == -INFINITY);
}

TEST_CASE("intrinsics of a stated rounding round once, and __saturatef turns NaN into zero") {
  CHECK(__fmaf_rn(0x1.000002p0F, 0x1.000002p0F, -0x1.000004p0F) == 0x1p-46F);
  CHECK(__fmul_rn(0x1.000002p0F, 0x1.000002p0F) == 0x1.000004p0F);
  CHECK(__fadd_rn(1.0F, 0x1p-24F) == 1.0F);
  CHECK(__frcp_rn(3.0F) == 1.0F / 3.0F);
  CHECK(__fsqrt_rn(2.0F) == std::sqrt(2.0F));
  CHECK(__frsqrt_rn(4.0F) == 0.5F);
  CHECK(__saturatef(NAN) == 0.0F);
  CHECK(__saturatef(2.0F) == 1.0F);
  CHECK(__saturatef(0.25F) == 0.25F);
  CHECK(!std::signbit(__saturatef(-0.0F)));
}

}  // namespace recto

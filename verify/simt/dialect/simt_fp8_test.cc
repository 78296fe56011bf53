#include "verify/simt/dialect/simt_fp8.h"

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "bazel/testing/catch.h"
#include "core/random_stream.h"

namespace recto {
namespace {

static_assert(std::is_trivial_v<__nv_fp8_e4m3> && sizeof(__nv_fp8_e4m3) == 1);
static_assert(std::is_trivial_v<__nv_fp8_e5m2> && sizeof(__nv_fp8_e5m2) == 1);

// By the format's definition (OCP 8-bit floating point specification). NaN is a value of its own.
double e4m3_meaning(unsigned code) {
  const unsigned field = code >> 3 & 15;
  const unsigned fraction = code & 7;
  const double magnitude = field == 0 ? std::ldexp(fraction, -9)
                                      : std::ldexp(8 + fraction, static_cast<int>(field) - 10);
  return (code & 0x80) != 0 ? -magnitude : magnitude;
}

double e5m2_meaning(unsigned code) {
  const unsigned field = code >> 2 & 31;
  const unsigned fraction = code & 3;
  const double magnitude = field == 0 ? std::ldexp(fraction, -16)
                                      : std::ldexp(4 + fraction, static_cast<int>(field) - 17);
  return (code & 0x80) != 0 ? -magnitude : magnitude;
}

// The finite code whose meaning is nearest, the even one of two, by trying all codes.
template <typename Meaning>
unsigned nearest_code(double x, unsigned largest, Meaning meaning) {
  unsigned best = 0;
  for (unsigned code = 1; code <= largest; ++code) {
    const double distance = std::abs(meaning(code) - std::abs(x));
    const double best_distance = std::abs(meaning(best) - std::abs(x));
    if (distance < best_distance || (distance == best_distance && code % 2 == 0)) best = code;
  }
  return best | (std::signbit(x) ? 0x80 : 0);
}

template <typename Meaning>
int count_wrong(__nv_fp8_interpretation_t interpretation, unsigned largest, Meaning meaning) {
  RandomStream random(7);
  int wrong = 0;
  for (int i = 0; i < 50000; ++i) {
    // Ties, and numbers of all sizes up to the largest.
    const auto code = static_cast<unsigned>(random.next_below(largest));
    const double share = i % 3 == 0 ? 0.5 : random.next_unit();
    const double magnitude = meaning(code) + share * (meaning(code + 1) - meaning(code));
    const auto x = static_cast<float>(i % 2 == 0 ? magnitude : -magnitude);
    if (__nv_cvt_float_to_fp8(x, __NV_SATFINITE, interpretation) !=
        nearest_code(x, largest, meaning)) {
      ++wrong;
    }
  }
  return wrong;
}

unsigned short half_code(double value) { return __half_as_ushort(__double2half(value)); }

}  // namespace

TEST_CASE("fp8 rounds to the nearest code, and of two as near to the even one") {
  CHECK(count_wrong(__NV_E4M3, 0x7e, e4m3_meaning) == 0);
  CHECK(count_wrong(__NV_E5M2, 0x7b, e5m2_meaning) == 0);
}

TEST_CASE("every fp8 code widens to the value of its format") {
  for (unsigned code = 0; code < 256; ++code) {
    CAPTURE(code);
    const auto storage = static_cast<__nv_fp8_storage_t>(code);
    const unsigned short e4m3 = __nv_cvt_fp8_to_halfraw(storage, __NV_E4M3).x;
    CHECK(e4m3 == ((code & 0x7f) == 0x7f ? 0x7fff : half_code(e4m3_meaning(code))));
    const unsigned short e5m2 = __nv_cvt_fp8_to_halfraw(storage, __NV_E5M2).x;
    const unsigned magnitude = code & 0x7f;
    if (magnitude > 0x7c) {
      CHECK(e5m2 == 0x7fff);
    } else if (magnitude == 0x7c) {
      CHECK(e5m2 == (code == 0x7c ? 0x7c00 : 0xfc00));
    } else {
      CHECK(e5m2 == half_code(e5m2_meaning(code)));
    }
  }
}

TEST_CASE("values beyond fp8's range saturate, or become NaN in e4m3 and infinity in e5m2") {
  const auto convert = __nv_cvt_float_to_fp8;
  CHECK(convert(464, __NV_NOSAT, __NV_E4M3) == 0x7e);  // a tie, whose even neighbour is 448
  CHECK(convert(464.1F, __NV_NOSAT, __NV_E4M3) == 0x7f);
  CHECK(convert(-464.1F, __NV_NOSAT, __NV_E4M3) == 0xff);
  CHECK(convert(464.1F, __NV_SATFINITE, __NV_E4M3) == 0x7e);
  CHECK(convert(-INFINITY, __NV_SATFINITE, __NV_E4M3) == 0xfe);
  CHECK(convert(61439, __NV_NOSAT, __NV_E5M2) == 0x7b);
  CHECK(convert(61440, __NV_NOSAT, __NV_E5M2) == 0x7c);
  CHECK(convert(61440, __NV_SATFINITE, __NV_E5M2) == 0x7b);
  CHECK(convert(INFINITY, __NV_SATFINITE, __NV_E5M2) == 0x7b);
  CHECK(convert(-INFINITY, __NV_NOSAT, __NV_E5M2) == 0xfc);
}

TEST_CASE("NaN stays NaN in fp8, the canonical one") {
  for (const float nan : {NAN, -NAN}) {
    for (const auto saturation : {__NV_SATFINITE, __NV_NOSAT}) {
      CHECK(__nv_cvt_float_to_fp8(nan, saturation, __NV_E4M3) == 0x7f);
      CHECK(__nv_cvt_float_to_fp8(nan, saturation, __NV_E5M2) == 0x7f);
    }
  }
}

TEST_CASE("conversions of two put the first into the lower byte") {
  CHECK(__nv_cvt_float2_to_fp8x2({1, -2}, __NV_SATFINITE, __NV_E4M3) == 0xc038);
  const __half2_raw pair = __nv_cvt_fp8x2_to_halfraw2(0xc038, __NV_E4M3);
  CHECK(pair.x == half_code(1));
  CHECK(pair.y == half_code(-2));
  CHECK(__nv_cvt_halfraw2_to_fp8x2(pair, __NV_SATFINITE, __NV_E4M3) == 0xc038);
}

TEST_CASE("fp8 types convert as their storage does, and saturate") {
  CHECK(__nv_fp8_e4m3(1000.0F).__x == 0x7e);
  CHECK(__nv_fp8_e5m2(__half(3.0F)).__x == 0x42);
  CHECK(__nv_fp8_e4m3(__nv_bfloat16(-0.5F)).__x == 0xb0);
  CHECK(float(__nv_fp8_e4m3(0.3F)) == 0.3125F);
  CHECK(float(__half(__nv_fp8_e5m2(0.3F))) == 0.3125F);
}

}  // namespace recto

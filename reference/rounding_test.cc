#include "reference/rounding.h"

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "bazel/testing/catch.h"
#include "core/contract.h"

namespace recto::reference {
namespace {

constexpr ElementType kSmallTypes[] = {ElementType::kFp16, ElementType::kBf16, ElementType::kE4m3,
                                       ElementType::kE5m2};
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Transcribed from the formats' definitions: codes without sign, and the values at the limits. fp16
// and fp32: IEEE 754-2019, table 3.5; e4m3 and e5m2: OCP 8-bit Floating Point Specification (OFP8)
// revision 1.0, table 2.
struct Published {
  ElementType type;
  std::uint32_t sign;
  std::uint32_t largest_code;
  double largest;
  double next_above_largest;  // the next number, if the format had one more
  double smallest_normal;
  double smallest_subnormal;
  double ulp_of_one;
};

constexpr Published kPublished[] = {
    {ElementType::kFp32, 0x80000000, 0x7f7fffff, 0x1.fffffep127, 0x1p128, 0x1p-126, 0x1p-149,
     0x1p-23},
    {ElementType::kFp16, 0x8000, 0x7bff, 65504, 65536, 0x1p-14, 0x1p-24, 0x1p-10},
    {ElementType::kBf16, 0x8000, 0x7f7f, 0x1.fep127, 0x1p128, 0x1p-126, 0x1p-133, 0x1p-7},
    {ElementType::kE4m3, 0x80, 0x7e, 448, 480, 0x1p-6, 0x1p-9, 0x1p-3},
    {ElementType::kE5m2, 0x80, 0x7b, 57344, 65536, 0x1p-14, 0x1p-16, 0x1p-2},
};

Published published(ElementType type) { return kPublished[static_cast<std::size_t>(type)]; }

bool has_infinity(ElementType type) { return type != ElementType::kE4m3; }

TEST_CASE("codes decode to the published limits of each format") {
  const Published format = GENERATE(from_range(std::begin(kPublished), std::end(kPublished)));
  CAPTURE(format.type);
  CHECK(decode(0, format.type) == 0.0);
  CHECK(decode(1, format.type) == format.smallest_subnormal);
  CHECK(decode(format.largest_code, format.type) == format.largest);
  CHECK(largest_finite(format.type) == format.largest);
  if (format.type != ElementType::kE4m3) {
    const double threshold = overflow_threshold(format.type);
    CHECK(std::isinf(round_to(threshold, format.type)));
    CHECK(round_to(std::nextafter(threshold, 0.0), format.type) == format.largest);
  }
  const std::uint32_t normal = encode(format.smallest_normal, format.type);
  CHECK(decode(normal, format.type) == format.smallest_normal);
  // The smallest normal number follows the largest subnormal number at the same distance.
  CHECK(decode(normal - 1, format.type) == format.smallest_normal - format.smallest_subnormal);
  CHECK(decode(normal + 1, format.type) == format.smallest_normal + format.smallest_subnormal);
  CHECK(decode(encode(1.0, format.type) + 1, format.type) == 1.0 + format.ulp_of_one);
}

TEST_CASE("all 256 codes of the 8-bit formats decode to the value of their fields") {
  for (std::uint32_t code = 0; code < 256; ++code) {
    CAPTURE(code);
    const double sign = code < 128 ? 1.0 : -1.0;
    const int exponent = static_cast<int>(code % 128 / 8);
    const double fraction = code % 8 / 8.0;
    const double value = decode(code, ElementType::kE4m3);
    if (code % 128 == 0x7f) {
      CHECK(std::isnan(value));
    } else {
      CHECK(value == sign * (exponent == 0 ? std::ldexp(fraction, -6)
                                           : std::ldexp(1.0 + fraction, exponent - 7)));
    }
    CHECK(std::signbit(value) == (code >= 128));
  }
  for (std::uint32_t code = 0; code < 256; ++code) {
    CAPTURE(code);
    const double sign = code < 128 ? 1.0 : -1.0;
    const int exponent = static_cast<int>(code % 128 / 4);
    const double fraction = code % 4 / 4.0;
    const double value = decode(code, ElementType::kE5m2);
    if (code % 128 > 0x7c) {
      CHECK(std::isnan(value));
    } else if (code % 128 == 0x7c) {
      CHECK(value == sign * kInfinity);
    } else {
      CHECK(value == sign * (exponent == 0 ? std::ldexp(fraction, -14)
                                           : std::ldexp(1.0 + fraction, exponent - 15)));
    }
    CHECK(std::signbit(value) == (code >= 128));
  }
}

TEST_CASE("the value of a code encodes to that code, except for NaN") {
  for (const ElementType type : kSmallTypes) {
    const Published format = published(type);
    std::uint32_t failures = 0;
    std::uint32_t codes = 0;
    for (std::uint32_t code = 0; code < 2 * format.sign; ++code) {
      const double value = decode(code, type);
      if (std::isnan(value)) continue;
      ++codes;
      failures += encode(value, type) == code ? 0 : 1;
      if (std::isfinite(value)) {
        failures += encode(value, type, Overflow::kSaturate) == code ? 0 : 1;
      }
    }
    CAPTURE(type);
    CHECK(failures == 0);
    CHECK(codes == 2 * (format.largest_code + (has_infinity(type) ? 2 : 1)));
  }
}

TEST_CASE("rounding takes the nearer neighbour, and of two as near the even one") {
  for (const ElementType type : kSmallTypes) {
    const Published format = published(type);
    std::uint32_t failures = 0;
    const auto expect = [&](double value, std::uint32_t code) {
      failures += encode(value, type) == code ? 0 : 1;
      failures += encode(-value, type) == (code | format.sign) ? 0 : 1;
      failures += encode(value, type, Overflow::kSaturate) == code ? 0 : 1;
    };
    for (std::uint32_t code = 0; code < format.largest_code; ++code) {
      const double below = decode(code, type);
      const double above = decode(code + 1, type);
      const double middle = (below + above) / 2;
      expect(middle, code % 2 == 0 ? code : code + 1);
      expect(std::nextafter(middle, below), code);
      expect(std::nextafter(middle, above), code + 1);
      expect(std::nextafter(above, below), code + 1);
      expect(std::nextafter(below, above), code);
    }
    CAPTURE(type);
    CHECK(failures == 0);
  }
}

TEST_CASE("values that round beyond the largest number overflow, or saturate") {
  for (const Published& format : kPublished) {
    CAPTURE(format.type);
    const bool infinite = has_infinity(format.type);
    // e4m3 has no infinity: overflow gives NaN, the code after the largest in either case.
    const std::uint32_t beyond = format.largest_code + 1;
    const double middle = (format.largest + format.next_above_largest) / 2;
    for (const double sign : {1.0, -1.0}) {
      const std::uint32_t bit = sign < 0 ? format.sign : 0;
      const auto ieee = [&](double value) { return encode(sign * value, format.type); };
      CHECK(ieee(format.largest) == (format.largest_code | bit));
      CHECK(ieee(std::nextafter(middle, 0.0)) == (format.largest_code | bit));
      // Ties round to even: 448 has an even code, the largest numbers of the other types have odd
      // codes.
      CHECK(ieee(middle) == ((infinite ? beyond : format.largest_code) | bit));
      CHECK(ieee(std::nextafter(middle, kInfinity)) == (beyond | bit));
      for (const double value : {format.next_above_largest, 1e300, kInfinity}) {
        CHECK(ieee(value) == (beyond | bit));
        CHECK(encode(sign * value, format.type, Overflow::kSaturate) ==
              (format.largest_code | bit));
      }
      CHECK(encode(sign * middle, format.type, Overflow::kSaturate) == (format.largest_code | bit));
    }
    CHECK(std::isinf(round_to(kInfinity, format.type)) == infinite);
    CHECK(std::isnan(round_to(kInfinity, format.type)) == !infinite);
  }
  CHECK(encode(464.0, ElementType::kE4m3) == 0x7e);
  CHECK(encode(std::nextafter(464.0, 480.0), ElementType::kE4m3) == 0x7f);
  CHECK(encode(61440.0, ElementType::kE5m2) == 0x7c);
  CHECK(encode(65520.0, ElementType::kFp16) == 0x7c00);
}

TEST_CASE("NaN becomes the canonical quiet one of the same sign, whatever overflows do") {
  const double signalling = std::bit_cast<double>(std::uint64_t{0x7ff0000000000001});
  for (const Overflow overflow : {Overflow::kIeee, Overflow::kSaturate}) {
    for (const double nan : {kNan, signalling}) {
      CHECK(encode(nan, ElementType::kFp32, overflow) == 0x7fc00000);
      CHECK(encode(nan, ElementType::kFp16, overflow) == 0x7e00);
      CHECK(encode(nan, ElementType::kBf16, overflow) == 0x7fc0);
      CHECK(encode(nan, ElementType::kE4m3, overflow) == 0x7f);
      CHECK(encode(nan, ElementType::kE5m2, overflow) == 0x7e);
      CHECK(encode(-nan, ElementType::kFp32, overflow) == 0xffc00000);
      CHECK(encode(-nan, ElementType::kE4m3, overflow) == 0xff);
      CHECK(encode(-nan, ElementType::kE5m2, overflow) == 0xfe);
    }
  }
}

TEST_CASE("zeros keep their sign, and so do values that round to zero") {
  for (const Published& format : kPublished) {
    CHECK(encode(0.0, format.type) == 0);
    CHECK(encode(-0.0, format.type) == format.sign);
    CHECK(encode(-5e-324, format.type) == format.sign);
    CHECK(std::signbit(decode(format.sign, format.type)));
  }
}

TEST_CASE("a value is rounded once, not through fp32 first") {
  for (const ElementType type : kSmallTypes) {
    const double ulp = published(type).ulp_of_one;
    const double middle = 1.0 + ulp / 2;
    const double above = middle + 0x1p-40;  // fp32 makes the middle of it, whose even side is 1
    REQUIRE(static_cast<float>(above) == middle);
    CHECK(round_to(above, type) == 1.0 + ulp);
    CHECK(round_to(static_cast<float>(above), type) == 1.0);
  }
}

TEST_CASE("an fp8 cache stores the fp32 quotient, saturated") {
  CHECK(encode_fp8(3.0F, 2.0F, ElementType::kE4m3) == 0x3c);  // 1.5
  CHECK(encode_fp8(3.0F, 2.0F, ElementType::kE5m2) == 0x3e);
  CHECK(encode_fp8(449.0F, 1.0F, ElementType::kE4m3) == 0x7e);
  CHECK(encode_fp8(-1e30F, 1e-30F, ElementType::kE4m3) == 0xfe);
  CHECK(encode_fp8(-std::numeric_limits<float>::infinity(), 1.0F, ElementType::kE5m2) == 0xfb);
  CHECK(encode_fp8(std::nanf(""), 1.0F, ElementType::kE4m3) == 0x7f);
  CHECK(encode_fp8(-0.0F, 3.0F, ElementType::kE4m3) == 0x80);
  CHECK(encode_fp8(0x1p-8F, 2.0F, ElementType::kE4m3) == 0x01);

  // The exact quotient is above the midpoint of 1 and 1.125; in fp32 it is the midpoint.
  const float x = 0x1.61999ap+0F;
  const float scale = 1.3F;
  const double quotient = static_cast<double>(x) / scale;
  REQUIRE(quotient > 1.0625);
  CHECK(encode(quotient, ElementType::kE4m3) == 0x39);
  CHECK(encode_fp8(x, scale, ElementType::kE4m3) == 0x38);
}

TEST_CASE("an fp8 scale is positive and finite, and the type is an fp8") {
  CHECK_NOTHROW(encode_fp8(1.0F, std::numeric_limits<float>::denorm_min(), ElementType::kE4m3));
  CHECK_NOTHROW(encode_fp8(1.0F, std::numeric_limits<float>::max(), ElementType::kE4m3));
  for (const float scale : {0.0F, -1.0F, std::nanf(""), std::numeric_limits<float>::infinity()}) {
    CHECK_THROWS_AS(encode_fp8(1.0F, scale, ElementType::kE4m3), ContractFailure);
  }
  CHECK_THROWS_AS(encode_fp8(1.0F, 1.0F, ElementType::kFp16), ContractFailure);
}

TEST_CASE("rounding errors are at most the stated bounds, and reach them") {
  for (const Published& format : kPublished) {
    CAPTURE(format.type);
    CHECK(unit_roundoff(format.type) == format.ulp_of_one / 2);
    CHECK(underflow_error(format.type) == format.smallest_subnormal / 2);
    const double middle = 1.0 + format.ulp_of_one / 2;
    CHECK(std::abs(round_to(middle, format.type) - middle) == unit_roundoff(format.type));
    CHECK(round_to(underflow_error(format.type), format.type) == 0.0);
    CHECK(round_to(std::nextafter(underflow_error(format.type), 1.0), format.type) ==
          format.smallest_subnormal);
  }
}

TEST_CASE("a row of codes is decoded as each of them, at any alignment") {
  for (const ElementType type : kSmallTypes) {
    const auto width = static_cast<std::size_t>(element_bytes(type));
    const std::size_t codes = 2 * published(type).sign;
    std::vector<std::byte> memory(1 + codes * width);
    for (std::size_t code = 0; code < codes; ++code) {
      for (std::size_t byte = 0; byte < width; ++byte) {
        memory[1 + code * width + byte] = static_cast<std::byte>(code >> (8 * byte));
      }
    }
    std::vector<double> values(codes);
    decode_row(memory.data() + 1, type, values);
    std::size_t failures = 0;
    for (std::size_t code = 0; code < codes; ++code) {
      const double one = decode(static_cast<std::uint32_t>(code), type);
      failures +=
          std::bit_cast<std::uint64_t>(values[code]) == std::bit_cast<std::uint64_t>(one) ? 0 : 1;
    }
    CAPTURE(type);
    CHECK(failures == 0);
  }
}

}  // namespace
}  // namespace recto::reference

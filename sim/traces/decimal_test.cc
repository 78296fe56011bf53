#include "sim/traces/text_fields.h"

#include "bazel/testing/catch.h"

namespace recto::sim {
namespace {

TEST_CASE("integers are read whole or not at all") {
  CHECK(parse_integer("0") == 0);
  CHECK(parse_integer("-3") == -3);
  CHECK(parse_integer("007") == 7);
  CHECK(parse_integer("9223372036854775807") == 9223372036854775807);
  for (const char* text : {"", " 1", "1 ", "+1", "1.0", "1e3", "0x10", "9223372036854775808", "-",
                           "inf", "nan", "1,000"}) {
    CAPTURE(text);
    CHECK(parse_integer(text) == std::nullopt);
  }
}

TEST_CASE("decimal seconds become nanoseconds without passing through a double") {
  CHECK(parse_scaled_decimal("0", 9) == 0);
  CHECK(parse_scaled_decimal("61.114", 9) == 61'114'000'000);
  CHECK(parse_scaled_decimal(".5", 9) == 500'000'000);
  CHECK(parse_scaled_decimal("5.", 9) == 5'000'000'000);
  CHECK(parse_scaled_decimal("46.6805900", 9) == 46'680'590'000);
  // A double holds neither of these to the nanosecond.
  CHECK(parse_scaled_decimal("9007199254.740993001", 9) == 9'007'199'254'740'993'001);
  CHECK(parse_scaled_decimal("9223372036.854775807", 9) == 9'223'372'036'854'775'807);
}

TEST_CASE("digits below the nanosecond are rounded once, halves up") {
  CHECK(parse_scaled_decimal("5.8926549999999995", 9) == 5'892'655'000);
  CHECK(parse_scaled_decimal("0.0000000004999999", 9) == 0);
  CHECK(parse_scaled_decimal("0.0000000005", 9) == 1);
  CHECK(parse_scaled_decimal("0.9999999995", 9) == 1'000'000'000);
  CHECK(parse_scaled_decimal("0.00000000005", 9) == 0);
}

TEST_CASE("exponents shift the point") {
  CHECK(parse_scaled_decimal("1e-05", 9) == 10'000);
  CHECK(parse_scaled_decimal("1.5E+3", 6) == 1'500'000'000);
  CHECK(parse_scaled_decimal("2e0", 0) == 2);
  CHECK(parse_scaled_decimal("5e-10", 9) == 1);
  CHECK(parse_scaled_decimal("1e-1000000", 9) == 0);
  CHECK(parse_scaled_decimal("0e1000000", 9) == 0);
  CHECK(parse_scaled_decimal("0.000e3", 9) == 0);
}

TEST_CASE("what is no decimal of at least 0, or too large, is refused") {
  for (const char* text : {"",
                           ".",
                           "-1",
                           "-0.5",
                           "+1",
                           "e5",
                           "1e",
                           "1e+",
                           "1e+-5",
                           "1 ",
                           " 1",
                           "inf",
                           "nan",
                           "NaN",
                           "1.2.3",
                           "0x1p3",
                           "1_000",
                           "9223372036.854775808",
                           "9223372036.8547758075",
                           "1e300",
                           "1e1000000",
                           "99999999999999999999999999"}) {
    CAPTURE(text);
    CHECK(parse_scaled_decimal(text, 9) == std::nullopt);
  }
}

}  // namespace
}  // namespace recto::sim

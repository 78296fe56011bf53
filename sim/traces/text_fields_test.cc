#include "sim/traces/text_fields.h"

#include <string>
#include <vector>

#include "bazel/testing/catch.h"

namespace recto::sim {
namespace {

std::vector<std::string> split(std::string_view line) {
  CsvFields fields;
  REQUIRE(fields.split(line) == Status::ok());
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < fields.size(); ++i) texts.emplace_back(fields[i]);
  return texts;
}

TEST_CASE("a line is split at its commas") {
  CHECK(split("a,b,c") == std::vector<std::string>{"a", "b", "c"});
  CHECK(split("a") == std::vector<std::string>{"a"});
  CHECK(split("") == std::vector<std::string>{""});
  CHECK(split(",") == std::vector<std::string>{"", ""});
  CHECK(split("a,,b,") == std::vector<std::string>{"a", "", "b", ""});
}

TEST_CASE("quotes protect commas and themselves") {
  CHECK(split(R"("a,b",c)") == std::vector<std::string>{"a,b", "c"});
  CHECK(split(R"(x,"say ""hi""","")") == std::vector<std::string>{"x", "say \"hi\"", ""});
  CHECK(split(R"("one","two, three","four""")") ==
        std::vector<std::string>{"one", "two, three", "four\""});
  CHECK(split(R"(5" wide,x)") == std::vector<std::string>{"5\" wide", "x"});
}

TEST_CASE("a splitter splits the next line after an error") {
  CsvFields fields;
  CHECK(fields.split(R"(a,"b)").message() == "column 2: expected a closing quote on the same line");
  CHECK(fields.split(R"(a,"b"c,d)").message() ==
        "column 2: expected a comma after the closing quote");
  REQUIRE(fields.split("x,y") == Status::ok());
  CHECK(fields.size() == 2);
  CHECK(fields[1] == "y");
}

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

TEST_CASE("malformed, negative and too large decimals are refused") {
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

// 2023-11-16 18:15:46 UTC, as `date -d ... +%s` says.
constexpr std::int64_t kAzureStart = 1'700'158'546'000'000'000;

TEST_CASE("a date and time becomes nanoseconds since 1970, to the last digit") {
  CHECK(parse_timestamp("1970-01-01 00:00:00") == 0);
  CHECK(parse_timestamp("2023-11-16 18:15:46.6805900") == kAzureStart + 680'590'000);
  CHECK(parse_timestamp("2023-11-16T18:15:46.680590123") == kAzureStart + 680'590'123);
  CHECK(parse_timestamp("2023-11-16 18:15:46.9999999996") == kAzureStart + 1'000'000'000);
  CHECK(parse_timestamp("2024-02-29 00:00:00") == 1'709'164'800'000'000'000);
}

TEST_CASE("offsets from UTC are taken into account") {
  for (const char* text :
       {"2023-11-16 18:15:46Z", "2023-11-16 18:15:46+00:00", "2023-11-16 18:15:46-00:00",
        "2023-11-16 18:15:46+0000", "2023-11-16 18:15:46+00", "2023-11-16 20:15:46+02",
        "2023-11-16 23:45:46+05:30", "2023-11-16 10:15:46.000-08:00"}) {
    CAPTURE(text);
    CHECK(parse_timestamp(text) == kAzureStart);
  }
  CHECK(parse_timestamp("1970-01-01 00:00:00+01:00") == -3'600'000'000'000);
}

TEST_CASE("malformed and out-of-range dates and times are refused") {
  for (const char* text : {"",
                           "2023-11-16",
                           "2023-11-16 18:15",
                           "2023-11-16 18:15:46.",
                           "2023-11-16 18:15:46.5x",
                           "2023-02-29 00:00:00",
                           "2023-13-01 00:00:00",
                           "2023-00-01 00:00:00",
                           "2023-04-31 00:00:00",
                           "2023-11-16 24:00:00",
                           "2023-11-16 18:60:00",
                           "2023-11-16 18:15:60",
                           "1969-12-31 23:59:59",
                           "2262-01-01 00:00:00",
                           "16/11/2023 18:15",
                           "2023-11-16 18:15:46+1",
                           "2023-11-16 18:15:46+24:00",
                           "2023-11-16 18:15:46+00:0",
                           "2023-11-16 18:15:46 UTC",
                           "2023-11-16 18:15:46ZZ",
                           "1700158546",
                           "nan",
                           "-023-11-16"}) {
    CAPTURE(text);
    CHECK(parse_timestamp(text) == std::nullopt);
  }
}

}  // namespace
}  // namespace recto::sim

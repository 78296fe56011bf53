#include "sim/traces/text_fields.h"

#include "bazel/testing/catch.h"

namespace recto::sim {
namespace {

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

TEST_CASE("what is no date and time is refused") {
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

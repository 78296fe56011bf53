#include "experiments/trace/trace_report.h"

#include "bazel/testing/catch.h"

namespace recto::experiments {
namespace {

using Catch::Matchers::ContainsSubstring;

TEST_CASE("counts may be in thousands, millions and thousands of millions") {
  CHECK(parse_token_count("1").value() == TokenCount(1));
  CHECK(parse_token_count("16k").value() == TokenCount(16'000));
  CHECK(parse_token_count("1.1K").value() == TokenCount(1100));
  CHECK(parse_token_count("1.5M").value() == TokenCount(1'500'000));
  CHECK(parse_token_count("2g").value() == TokenCount(2'000'000'000));
  CHECK(parse_token_count("1e6").value() == TokenCount(1'000'000));
}

TEST_CASE("malformed and out-of-range token counts are refused with the expected forms") {
  for (const char* text : {"", "0", "-5", "1.5", "k", "5x", "1M2", "nan", "inf", "1e300", "2e6G",
                           "0.0001k", " 5", "5 "}) {
    INFO(text);
    const Status status = parse_token_count(text).status();
    CHECK(status.code() == StatusCode::kInvalidInput);
    CHECK_THAT(status.message(), ContainsSubstring("expected tokens such as 500, 16k, 1.5M or 2G"));
  }
}

}  // namespace
}  // namespace recto::experiments

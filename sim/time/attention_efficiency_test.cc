#include "sim/time/attention_efficiency.h"

#include <cmath>

#include "bazel/testing/property.h"

namespace recto::sim {
namespace {

using Catch::Approx;

const AttentionCurve kTwoPoints{.name = "t",
                                .points = {{4, 0.2}, {64, 0.6}},
                                .provenance = Provenance::kMeasured,
                                .source = "a test"};

TEST_CASE("log2 is exact at powers of two and close in between") {
  for (int exponent = 0; exponent < 62; ++exponent) {
    CHECK(interpolated_log2(std::int64_t{1} << exponent) == exponent);
  }
  CHECK(interpolated_log2(48) == 5.5);
  property("never above the true one, never 0.0861 below", [](Draw& draw) {
    const auto value = draw.growing(1, 999'999);
    const double error = std::log2(static_cast<double>(value)) - interpolated_log2(value);
    RECTO_REQUIRE(error > -1e-12);
    RECTO_REQUIRE(error < 0.08608);
  });
}

TEST_CASE("a curve meets its points, is linear in log2 between them, and flat beyond them") {
  const auto at = [](std::int64_t block) {
    return attention_efficiency(kTwoPoints, TokenCount(block));
  };
  CHECK(at(4) == 0.2);
  CHECK(at(64) == 0.6);
  CHECK(at(16) == Approx(0.4).epsilon(1e-15));
  CHECK(at(48) == Approx(0.2 + 0.4 * 3.5 / 4).epsilon(1e-15));
  CHECK(at(1) == 0.2);
  CHECK(at(1'000'000) == 0.6);
}

TEST_CASE("every cited curve is valid, has a source, and does not fall with block size") {
  for (const AttentionCurve& curve : attention_curves()) {
    INFO(curve.name);
    CHECK(check_attention_curve(curve) == Status::ok());
    CHECK_FALSE(curve.source.empty());
    CHECK(find_attention_curve(curve.name).value().source == curve.source);
    CHECK(describe_curve(curve).find("cited, not measured on this card") != std::string::npos);
    double previous = 0;
    for (std::int64_t block = 1; block <= 1024; ++block) {
      const double efficiency = attention_efficiency(curve, TokenCount(block));
      CHECK(efficiency >= previous);
      previous = efficiency;
    }
  }
}

TEST_CASE("curves reproduce the cited figures") {
  const auto at = [](const char* name, std::int64_t block) {
    return attention_efficiency(find_attention_curve(name).value(), TokenCount(block));
  };
  CHECK(at("flashinfer", 1) / at("flashinfer", 16) == Approx(0.90));
  CHECK(at("fa4", 1) / at("fa4", 128) == Approx(0.867 / 4.001));
  CHECK(at("fa4", 32) / at("fa4", 128) == Approx(1.354 / 4.001));
  CHECK(at("fa3", 8) == 0.545);
  CHECK(at("vllm-v0", 16) == Approx(kContiguousAttentionEfficiency / 1.23));
  CHECK(default_attention_curve().name == "flashinfer");
}

TEST_CASE("an unknown curve is answered with the known ones") {
  const Status status = find_attention_curve("fa9").status();
  CHECK(status.code() == StatusCode::kInvalidInput);
  CHECK(status.message().find("flashinfer, fa4, fa4-gqa, fa3, vllm-v0") != std::string::npos);
}

TEST_CASE("unusable curves are refused") {
  const auto check = [](std::vector<EfficiencyPoint> points) {
    return check_attention_curve(
        {.name = "t", .points = std::move(points), .provenance = Provenance::kCited, .source = ""});
  };
  CHECK_FALSE(check({}).is_ok());
  CHECK_FALSE(check({{0, 0.5}}).is_ok());
  CHECK_FALSE(check({{4, 0.5}, {4, 0.6}}).is_ok());
  CHECK_FALSE(check({{4, 0.0}}).is_ok());
  CHECK_FALSE(check({{4, 1.1}}).is_ok());
  CHECK(check({{4, 1.0}}).is_ok());
}

TEST_CASE("the description of a measured curve says that it was measured") {
  CHECK(describe_curve(kTwoPoints).find("(measured on this card: a test)") != std::string::npos);
}

}  // namespace
}  // namespace recto::sim

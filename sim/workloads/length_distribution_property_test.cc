#include "sim/workloads/length_distribution.h"

#include <fmt/format.h>

#include <string>

#include "bazel/testing/property.h"

namespace recto::sim {
namespace {

// Draws a valid text of a kind that can be a part of a mixture.
std::string draw_simple_text(Draw& draw) {
  const double mean = draw.growing<int>(10, 49'999) / 10.0;
  const double factor = draw.growing<int>(1, 499) / 100.0;
  const int low = draw.growing<int>(1, 999);
  const int more = draw.growing<int>(0, 999);
  switch (draw.growing<int>(0, 4)) {
    case 0:
      return fmt::format("constant:{}", low);
    case 1:
      return fmt::format("uniform:{},{}", low, low + more);
    case 2:
      return fmt::format("lognormal:mean={},cv={},max={}", mean, factor, int(mean) + 1 + more);
    case 3:
      return fmt::format("gamma:mean={},shape={},max={}", mean, factor, int(mean) + 1 + more);
    default:
      return fmt::format("zipf:n={},s={}", low, factor);
  }
}

// Draws a valid text of any kind.
std::string draw_text(Draw& draw) {
  const int number = draw.growing<int>(1, 999);
  switch (draw.growing<int>(0, 6)) {
    case 0:
      return fmt::format("empirical:{}x{},{}x1", number, number, draw.growing<int>(1, 1999));
    case 1:  // 5,000 is the largest mean
      return fmt::format("mixture:max={},{}x{}+0.5x{}", 5000 + number, number,
                         draw_simple_text(draw), draw_simple_text(draw));
    default:
      return draw_simple_text(draw);
  }
}

TEST_CASE("lengths of any distribution") {
  property("lie within its range", [](Draw& draw) {
    const LengthDistribution lengths = LengthDistribution::parse(draw_text(draw)).value();
    RandomStream stream(draw.seed());
    for (int i = 0; i < 200; ++i) {
      const TokenCount length = lengths.draw(stream);
      RECTO_REQUIRE(length >= lengths.range().min);
      RECTO_REQUIRE(length <= lengths.range().max);
    }
  });

  property("survive a round trip through their description", [](Draw& draw) {
    const LengthDistribution lengths = LengthDistribution::parse(draw_text(draw)).value();
    RECTO_REQUIRE(LengthDistribution::parse(lengths.describe()).value() == lengths);
  });

  property("repeat with the seed", [](Draw& draw) {
    const LengthDistribution lengths = LengthDistribution::parse(draw_text(draw)).value();
    const auto seed = draw.seed();
    RandomStream first(seed);
    RandomStream second(seed);
    for (int i = 0; i < 50; ++i) RECTO_REQUIRE(lengths.draw(first) == lengths.draw(second));
  });

  property("scale with the mean, draw by draw", [](Draw& draw) {
    // With the same uniform numbers and a doubled mean, the length doubles, up to rounding.
    const int mean = draw.growing<int>(10, 999);
    const double cv = draw.growing<int>(10, 299) / 100.0;
    const auto single = LengthDistribution::parse(fmt::format("lognormal:{},{}", mean, cv)).value();
    const auto twice =
        LengthDistribution::parse(fmt::format("lognormal:{},{}", 2 * mean, cv)).value();
    const auto seed = draw.seed();
    RandomStream first(seed);
    RandomStream second(seed);
    for (int i = 0; i < 50; ++i) {
      const std::int64_t expected = 2 * single.draw(first).value();
      const std::int64_t scaled = twice.draw(second).value();
      RECTO_REQUIRE(scaled >= std::max<std::int64_t>(expected - 1, 1));
      RECTO_REQUIRE(scaled <= expected + 1);
    }
  });
}

TEST_CASE("texts of lengths") {
  property("that are noise are refused or understood, never a crash", [](Draw& draw) {
    const auto kind =
        draw.element<std::string>({"constant", "uniform", "lognormal", "gamma", "zipf", "empirical",
                                   "mixture", "mixture:1xconstant", ""});
    const auto fields = draw.composite("fields", [](Draw& text) {
      const auto characters = text.list(
          [](Draw& one) { return one.element(std::string("0123456789=,:x.e-+ meanscvpxhk")); });
      return std::string(characters.begin(), characters.end());
    });
    const Result<LengthSpec> spec = parse_length_spec(kind + ":" + fields);
    RECTO_REQUIRE((spec.is_ok() || spec.status().code() == StatusCode::kInvalidInput));
  });
}

}  // namespace
}  // namespace recto::sim

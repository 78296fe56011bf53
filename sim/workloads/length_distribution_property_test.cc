#include "sim/workloads/length_distribution.h"

#include <fmt/format.h>

#include <string>

#include "bazel/testing/property.h"

namespace recto::sim {
namespace {

// Any valid text of a kind that a mixture may have as a part.
std::string any_simple_text() {
  const double mean = *rc::gen::inRange(10, 50'000) / 10.0;
  const double factor = *rc::gen::inRange(1, 500) / 100.0;
  const int low = *rc::gen::inRange(1, 1000);
  const int more = *rc::gen::inRange(0, 1000);
  switch (*rc::gen::inRange(0, 5)) {
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

// Any valid text, of any kind.
std::string any_text() {
  const int number = *rc::gen::inRange(1, 1000);
  switch (*rc::gen::inRange(0, 7)) {
    case 0:
      return fmt::format("empirical:{}x{},{}x1", number, number, *rc::gen::inRange(1, 2000));
    case 1:  // 5,000 is the largest mean
      return fmt::format("mixture:max={},{}x{}+0.5x{}", 5000 + number, number, any_simple_text(),
                         any_simple_text());
    default:
      return any_simple_text();
  }
}

TEST_CASE("lengths of any distribution") {
  rc::prop("lie within its range", [] {
    const LengthDistribution lengths = LengthDistribution::parse(any_text()).value();
    RandomStream stream(*rc::gen::arbitrary<std::uint64_t>());
    for (int i = 0; i < 200; ++i) {
      const TokenCount length = lengths.draw(stream);
      RC_ASSERT(length >= lengths.range().min);
      RC_ASSERT(length <= lengths.range().max);
    }
  });

  rc::prop("survive a round trip through their description", [] {
    const LengthDistribution lengths = LengthDistribution::parse(any_text()).value();
    RC_ASSERT(LengthDistribution::parse(lengths.describe()).value() == lengths);
  });

  rc::prop("repeat with the seed", [] {
    const LengthDistribution lengths = LengthDistribution::parse(any_text()).value();
    const auto seed = *rc::gen::arbitrary<std::uint64_t>();
    RandomStream first(seed);
    RandomStream second(seed);
    for (int i = 0; i < 50; ++i) RC_ASSERT(lengths.draw(first) == lengths.draw(second));
  });

  rc::prop("scale with the mean, draw by draw", [] {
    // The same uniforms and a doubled mean: twice the length, up to rounding.
    const int mean = *rc::gen::inRange(10, 1000);
    const double cv = *rc::gen::inRange(10, 300) / 100.0;
    const auto single = LengthDistribution::parse(fmt::format("lognormal:{},{}", mean, cv)).value();
    const auto twice =
        LengthDistribution::parse(fmt::format("lognormal:{},{}", 2 * mean, cv)).value();
    const auto seed = *rc::gen::arbitrary<std::uint64_t>();
    RandomStream first(seed);
    RandomStream second(seed);
    for (int i = 0; i < 50; ++i) {
      const std::int64_t expected = 2 * single.draw(first).value();
      const std::int64_t scaled = twice.draw(second).value();
      RC_ASSERT(scaled >= std::max<std::int64_t>(expected - 1, 1));
      RC_ASSERT(scaled <= expected + 1);
    }
  });
}

TEST_CASE("texts of lengths") {
  rc::prop("that are noise are refused or understood, never a crash", [] {
    const auto kind =
        *rc::gen::element<std::string>("constant", "uniform", "lognormal", "gamma", "zipf",
                                       "empirical", "mixture", "mixture:1xconstant", "");
    const auto fields = *rc::gen::container<std::string>(
        rc::gen::elementOf(std::string("0123456789=,:x.e-+ meanscvpxhk")));
    const Result<LengthSpec> spec = parse_length_spec(kind + ":" + fields);
    RC_ASSERT(spec.is_ok() || spec.status().code() == StatusCode::kInvalidInput);
  });
}

}  // namespace
}  // namespace recto::sim

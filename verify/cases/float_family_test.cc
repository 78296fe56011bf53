#include "verify/cases/float_family.h"

#include <bit>
#include <cmath>
#include <numbers>
#include <set>
#include <vector>

#include "bazel/testing/catch.h"
#include "reference/rounding.h"
#include "verify/cases/sample_checks.h"

namespace recto::verify {
namespace {

constexpr std::size_t kSamples = 200'000;
constexpr double kLargest = 16.0;

std::vector<float> draw_row(const FloatSource& source, std::size_t count, std::int64_t token = 0) {
  std::vector<float> row(count);
  RandomStream stream = RandomStream(2026).split(float_family_name(source.family));
  fill_row(source, token, stream, row);
  return row;
}

std::vector<double> samples_of(FloatFamily family, ElementType type = ElementType::kFp32) {
  const std::vector<float> row = draw_row({family, type, kLargest}, kSamples);
  return {row.begin(), row.end()};
}

void check_moment(const std::vector<double>& values, int power, double expected) {
  CAPTURE(power);
  const Moment moment = moment_of(values, power);
  CHECK(std::abs(moment.value - expected) < moment.bound);
}

template <typename Predicate>
void check_share(const std::vector<double>& values, double probability, const Predicate& holds) {
  CHECK(std::abs(share_of(values, holds) - probability) < share_bound(probability, values.size()));
}

double smallest_normal(ElementType type) {
  const bool has_few_exponents = type == ElementType::kFp16 || type == ElementType::kE5m2;
  return type == ElementType::kE4m3 ? 0x1p-6 : has_few_exponents ? 0x1p-14 : 0x1p-126;
}

TEST_CASE("every family draws values of its type within its largest magnitude") {
  for (const FloatFamily family : kFloatFamilies) {
    for (const ElementType type : kElementTypes) {
      for (const double largest : {16.0, 256.0}) {
        CAPTURE(family, type, largest);
        const FloatSource source{family, type, largest};
        double seen = 0.0;
        for (const float value : draw_row(source, 5000)) {
          REQUIRE(reference::round_to(value, type) == static_cast<double>(value));
          seen = std::max(seen, std::abs(static_cast<double>(value)));
        }
        CHECK(seen <= largest_magnitude(source));
        CHECK(seen > 0.0);
      }
    }
  }
}

TEST_CASE("values nearly reach their family's largest magnitude") {
  for (const FloatFamily family : kFloatFamilies) {
    // Eight deviations never occur; dominating keys are placed by case_tensors.cc.
    if (family == FloatFamily::kNormal || family == FloatFamily::kDominatingKey ||
        family == FloatFamily::kPeakedEnds)
      continue;
    CAPTURE(family);
    const FloatSource source{family, ElementType::kFp32, kLargest};
    double seen = 0.0;
    for (const float value : draw_row(source, kSamples))
      seen = std::max<double>(seen, std::abs(value));
    CHECK(seen > 0.99 * largest_magnitude(source));
  }
}

TEST_CASE("a longer row begins with the same values, and the same stream gives the same row") {
  for (const FloatFamily family : kFloatFamilies) {
    CAPTURE(family);
    const FloatSource source{family, ElementType::kFp16, kLargest};
    const std::vector<float> longer = draw_row(source, 300);
    const std::vector<float> shorter = draw_row(source, 70);
    CHECK(std::equal(shorter.begin(), shorter.end(), longer.begin()));
    CHECK(draw_row(source, 300) == longer);
  }
}

TEST_CASE("the draws are the same on every machine") {
  // All families and types together, bit for bit; a change here changes every saved case.
  std::uint64_t hash = 0;
  for (const FloatFamily family : kFloatFamilies) {
    for (const ElementType type : kElementTypes) {
      for (const float value : draw_row({family, type, kLargest}, 1000)) {
        hash = mix_bits(std::rotl(hash, 5) ^ std::bit_cast<std::uint32_t>(value));
      }
    }
  }
  CHECK(hash == 0xc507ac1ae236eb91u);
}

TEST_CASE("ones are 1, and small integers are uniform from -4 to 4") {
  for (const double value : samples_of(FloatFamily::kOnes)) REQUIRE(value == 1.0);
  const std::vector<double> integers = samples_of(FloatFamily::kSmallIntegers);
  for (int integer = -4; integer <= 4; ++integer) {
    CAPTURE(integer);
    check_share(integers, 1.0 / 9, [&](double x) { return x == integer; });
  }
}

TEST_CASE("uniform draws have the moments and the shape of [-1, 1)") {
  for (const FloatFamily family :
       {FloatFamily::kUniform, FloatFamily::kDominatingKey, FloatFamily::kPeakedEnds}) {
    const std::vector<double> values = samples_of(family);
    check_moment(values, 1, 0.0);
    check_moment(values, 2, 1.0 / 3);
    CHECK(largest_distance(values, [](double x) { return (x + 1) / 2; }) <
          distance_bound(kSamples));
  }
}

TEST_CASE("normal draws have the moments, the shape and both tails of the normal") {
  const auto cdf = [](double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); };
  const std::vector<double> values = samples_of(FloatFamily::kNormal);
  check_moment(values, 1, 0.0);
  check_moment(values, 2, 1.0);
  check_moment(values, 3, 0.0);
  check_moment(values, 4, 3.0);
  CHECK(largest_distance(values, cdf) < distance_bound(kSamples));
  for (const double deviations : {1.0, 2.0, 3.0}) {
    CAPTURE(deviations);
    check_share(values, cdf(-deviations), [&](double x) { return x > deviations; });
    check_share(values, cdf(-deviations), [&](double x) { return x < -deviations; });
  }
}

TEST_CASE("heavy tails are those of Cauchy, cut off at the largest magnitude") {
  const auto cauchy = [](double x) { return 0.5 + std::atan(x) / std::numbers::pi; };
  const double kept = cauchy(kLargest) - cauchy(-kLargest);
  const std::vector<double> values = samples_of(FloatFamily::kHeavyTail);
  CHECK(largest_distance(values, [&](double x) { return (cauchy(x) - cauchy(-kLargest)) / kept; }) <
        distance_bound(kSamples));
  for (const double quantile : {1.0, 4.0, 8.0}) {
    CAPTURE(quantile);
    const double tail = 2 * (cauchy(kLargest) - cauchy(quantile)) / kept;
    check_share(values, tail, [&](double x) { return std::abs(x) > quantile; });
  }
}

TEST_CASE("a large offset dwarfs the differences, but some remain in every type") {
  const std::vector<double> values = samples_of(FloatFamily::kLargeOffset);
  check_moment(values, 1, kLargest / 2);
  CHECK(largest_distance(values, [](double x) { return (x - 7.0) / 2.0; }) <
        distance_bound(kSamples));
  for (const ElementType type : kElementTypes) {
    CAPTURE(type);
    const std::vector<double> rounded = samples_of(FloatFamily::kLargeOffset, type);
    CHECK(std::set<double>(rounded.begin(), rounded.end()).size() >= 2);
  }
}

TEST_CASE("alternating signs change from dim to dim and from token to token") {
  for (const std::int64_t token : {0, 1, 2}) {
    const FloatSource source{FloatFamily::kAlternatingSigns, ElementType::kFp32, kLargest};
    const std::vector<float> row = draw_row(source, 1000, token);
    for (std::size_t dim = 0; dim < row.size(); ++dim) {
      const bool is_even = (dim + static_cast<std::size_t>(token)) % 2 == 0;
      REQUIRE((row[dim] > 0.0F) == is_even);
      REQUIRE(std::abs(row[dim]) >= 0.5F);
    }
  }
  std::vector<double> magnitudes = samples_of(FloatFamily::kAlternatingSigns);
  for (double& value : magnitudes) value = std::abs(value);
  CHECK(largest_distance(magnitudes, [](double x) { return 2 * x - 1; }) <
        distance_bound(kSamples));
}

TEST_CASE("half of the denormals lie below the smallest normal, zeros of both signs among them") {
  for (const ElementType type : kElementTypes) {
    CAPTURE(type);
    const double normal = smallest_normal(type);
    const double spacing = 2 * reference::underflow_error(type);
    const double steps = normal / spacing;
    const std::vector<double> values = samples_of(FloatFamily::kDenormals, type);
    // The uniform half also falls there, with probability `normal`; it rounds up from half a step
    // below the smallest normal.
    const double uniform = normal - spacing / 2;
    check_share(values, 0.5 * steps / (steps + 1) + 0.5 * uniform,
                [&](double x) { return std::abs(x) < normal; });
    const double zero = 0.5 / (steps + 1) + 0.5 * spacing / 2;
    check_share(values, zero / 2, [](double x) { return x == 0 && std::signbit(x); });
    check_share(values, zero / 2, [](double x) { return x == 0 && !std::signbit(x); });
  }
}

TEST_CASE("huge values have either sign, and reach 1e30 if their type has fp32's range") {
  CHECK(huge_magnitude(ElementType::kBf16) > 1e30);
  CHECK(huge_magnitude(ElementType::kBf16) * 0x1p24 < 0x1p127);  // the whole longest context
  for (const ElementType type : kElementTypes) {
    CAPTURE(type);
    const double largest = huge_magnitude(type);
    CHECK(4 * largest < reference::largest_finite(ElementType::kFp32));
    CHECK(largest <= reference::largest_finite(type));
    const std::vector<double> values = samples_of(FloatFamily::kHugeValues, type);
    check_share(values, 0.5, [](double x) { return x > 0; });
    for (const double value : values) REQUIRE(std::abs(value) >= largest / 2);
  }
}

TEST_CASE("the outlier dim exceeds all others, which keep their own largest magnitude") {
  for (const ElementType type : kElementTypes) {
    CAPTURE(type);
    const FloatSource source{FloatFamily::kOutlierDim, type, kLargest};
    const std::vector<float> row = draw_row(source, 5000);
    CHECK(row[0] == kOutlier);
    CHECK(largest_magnitude(source) == kOutlier);
    double seen = 0.0;
    for (std::size_t d = 1; d < row.size(); ++d) seen = std::max<double>(seen, std::abs(row[d]));
    CHECK(seen <= largest_behind_first(source));
    CHECK(seen > 0.99);
  }
  CHECK(largest_behind_first({FloatFamily::kSmallIntegers, ElementType::kFp32, kLargest}) == 4.0);
}

TEST_CASE("exact ties have four values") {
  const std::vector<double> values = samples_of(FloatFamily::kExactTies);
  for (const double value : {-1.0, -0.5, 0.5, 1.0}) {
    CAPTURE(value);
    check_share(values, 0.25, [&](double x) { return x == value; });
  }
}

}  // namespace
}  // namespace recto::verify

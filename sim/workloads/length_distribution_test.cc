#include "sim/workloads/length_distribution.h"

#include <cmath>
#include <vector>

#include "bazel/testing/catch.h"
#include "sim/workloads/sampling_checks.h"

namespace recto::sim {
namespace {

constexpr std::size_t kSamples = 200'000;

LengthDistribution parsed(const char* text) { return LengthDistribution::parse(text).value(); }

std::vector<double> lengths_of(const char* text, std::size_t count = kSamples) {
  const LengthDistribution distribution = parsed(text);
  return testing::draws([&](RandomStream& stream) { return distribution.draw(stream).value(); },
                        count);
}

void check_moments(const std::vector<double>& samples, double mean, double variance) {
  const testing::Moments moments = testing::moments_of(samples);
  CHECK(std::abs(moments.mean - mean) <= moments.mean_bound);
  CHECK(std::abs(moments.variance - variance) <= moments.variance_bound);
}

// Rounded samples of a continuous distribution, compared bin by bin: [a, b) between half-integers.
template <typename Cdf>
void check_bins(const std::vector<double>& samples, double bin_width, const Cdf& cdf) {
  const double n = static_cast<double>(samples.size());
  std::vector<double> expected, observed;
  double edge = 0;  // the first bin includes values rounded up to 1
  while (n * (1 - cdf(edge)) > 40) {
    const double next = (edge == 0 ? 0.5 : edge) + bin_width;
    expected.push_back(n * (cdf(next) - cdf(edge)));
    observed.push_back(0);
    for (const double x : samples) observed.back() += x > edge && x < next;
    edge = next;
  }
  CHECK(testing::chi_square(observed, expected) < testing::chi_square_bound(observed.size()));
}

TEST_CASE("constant and uniform lengths have the mean and variance of their closed forms") {
  for (const double length : lengths_of("constant:512", 100)) REQUIRE(length == 512);
  check_moments(lengths_of("uniform:16,1024"), 520, (1009.0 * 1009 - 1) / 12);
}

TEST_CASE("lognormal lengths have the stated mean, variation and tail") {
  // Rounding adds the variance of a uniform of width 1.
  const std::vector<double> samples = lengths_of("lognormal:mean=161.31,cv=1.2");
  check_moments(samples, 161.31, std::pow(161.31 * 1.2, 2) + 1.0 / 12);
  const double deviation = std::sqrt(std::log1p(1.2 * 1.2));
  const double log_median = std::log(161.31) - 0.5 * deviation * deviation;
  check_bins(samples, 40, [&](double x) {
    return x <= 0 ? 0 : testing::normal_cdf((std::log(x) - log_median) / deviation);
  });
}

TEST_CASE("gamma lengths have the stated mean, shape and tail") {
  const std::vector<double> samples = lengths_of("gamma:mean=338,shape=1.3");
  check_moments(samples, 338, 338.0 * 338 / 1.3 + 1.0 / 12);
  check_bins(samples, 100, [](double x) { return testing::gamma_cdf(1.3, x * 1.3 / 338); });
}

TEST_CASE("Zipf lengths have the mean of their closed form") {
  double total = 0, mean = 0, square = 0;
  for (int k = 1; k <= 2048; ++k) {
    const double weight = std::pow(k, -1.1);
    total += weight;
    mean += k * weight;
    square += double{1} * k * k * weight;
  }
  mean /= total;
  check_moments(lengths_of("zipf:n=2048,s=1.1"), mean, square / total - mean * mean);
}

TEST_CASE("truncation keeps the distribution below the maximum, as if the rest had not been") {
  constexpr double kScale = 338 / 1.3;
  const std::vector<double> samples = lengths_of("gamma:mean=338,shape=1.3,max=600");
  const double kept = testing::gamma_cdf(1.3, 600.5 / kScale);
  check_bins(samples, 50,
             [&](double x) { return x >= 600.5 ? 1 : testing::gamma_cdf(1.3, x / kScale) / kept; });
  for (const double x : samples) REQUIRE(x <= 600);
}

TEST_CASE("empirical lengths come as often as they were given, in any order") {
  const std::vector<TokenCount> seen = {TokenCount(20), TokenCount(16), TokenCount(16),
                                        TokenCount(900)};
  const LengthDistribution from_trace = LengthDistribution::from_lengths(seen).value();
  CHECK(from_trace.describe() == "empirical:16x2,20x1,900x1");
  CHECK(from_trace == parsed("empirical:900x1,16x1,20x1,16x1"));
  const std::vector<double> samples = lengths_of("empirical:16x2,20x1,900x1");
  std::vector<double> observed(3);
  for (const double x : samples) ++observed[x == 16 ? 0 : x == 20 ? 1 : 2];
  const double n = static_cast<double>(kSamples);
  CHECK(testing::chi_square(observed, {n / 2, n / 4, n / 4}) < testing::chi_square_bound(2));
  CHECK_FALSE(LengthDistribution::from_lengths({}).is_ok());
}

TEST_CASE("the parts of a mixture come in proportion to their weights, however these add up") {
  const double n = static_cast<double>(kSamples);
  for (const char* text : {"mixture:3xconstant:7+1xuniform:100,199+6xuniform:300,399",
                           "mixture:0.3xconstant:7+0.1xuniform:100,199+0.6xuniform:300,399"}) {
    CAPTURE(text);
    const std::vector<double> samples = lengths_of(text);
    std::vector<double> observed(3);
    for (const double x : samples) ++observed[x == 7 ? 0 : x < 200 ? 1 : 2];
    CHECK(testing::chi_square(observed, {0.3 * n, 0.1 * n, 0.6 * n}) <
          testing::chi_square_bound(2));
    // For each part, the square of its mean and its variance.
    const double mean = 0.3 * 7 + 0.1 * 149.5 + 0.6 * 349.5;
    const double within = 9999.0 / 12;
    const double square =
        0.3 * 49 + 0.1 * (149.5 * 149.5 + within) + 0.6 * (349.5 * 349.5 + within);
    check_moments(samples, mean, square - mean * mean);
  }
}

// The distribution of 0.6xlognormal:mean=12,cv=0.2+0.4xlognormal:mean=30.275,cv=0.7 before
// rounding.
double two_lognormals_cdf(double x) {
  const auto cdf = [x](double mean, double cv) {
    const double deviation = std::sqrt(std::log1p(cv * cv));
    const double log_median = std::log(mean) - 0.5 * deviation * deviation;
    return x <= 0 ? 0 : testing::normal_cdf((std::log(x) - log_median) / deviation);
  };
  return 0.6 * cdf(12, 0.2) + 0.4 * cdf(30.275, 0.7);
}

TEST_CASE("a mixture has the mean, variance and tail of its parts together") {
  const std::vector<double> samples =
      lengths_of("mixture:0.6xlognormal:mean=12,cv=0.2+0.4xlognormal:mean=30.275,cv=0.7");
  const double mean = 0.6 * 12 + 0.4 * 30.275;
  const double square =
      0.6 * std::pow(12, 2) * (1 + 0.2 * 0.2) + 0.4 * std::pow(30.275, 2) * (1 + 0.7 * 0.7);
  check_moments(samples, mean, square - mean * mean + 1.0 / 12);
  check_bins(samples, 5, two_lognormals_cdf);
}

// If each part were truncated alone, the second would keep its full share of 0.4.
TEST_CASE("truncating a mixture keeps the whole below the maximum, as if the rest had not been") {
  const std::vector<double> samples =
      lengths_of("mixture:max=40,0.6xlognormal:mean=12,cv=0.2+0.4xlognormal:mean=30.275,cv=0.7");
  const double kept = two_lognormals_cdf(40.5);
  check_bins(samples, 5, [&](double x) { return x >= 40.5 ? 1 : two_lognormals_cdf(x) / kept; });
  for (const double x : samples) REQUIRE(x <= 40);
}

TEST_CASE("golden hashes: the first 10,000 lengths are these on every machine") {
  const auto hash = [](const char* text) { return testing::golden_hash(lengths_of(text, 10'000)); };
  CHECK(hash("uniform:16,1024") == 0xf4fbbd6c1f023c8cu);
  CHECK(hash("lognormal:mean=161,cv=1.2,max=2048") == 0x14e52ef5c8c1363fu);
  CHECK(hash("gamma:mean=338,shape=1.3,max=2048") == 0x32fcb91db722c6b9u);
  CHECK(hash("zipf:n=2048,s=1.1") == 0xbefb83e105dbdc95u);
  CHECK(hash("empirical:16x3,20x1,900x2") == 0x4515175bf6586341u);
  CHECK(hash("mixture:max=1024,0.6xlognormal:mean=12,cv=0.2+0.4xlognormal:mean=30.275,cv=0.7") ==
        0x375681d723f0b7f3u);
}

}  // namespace
}  // namespace recto::sim

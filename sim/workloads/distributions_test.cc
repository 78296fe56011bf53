#include "sim/workloads/distributions.h"

#include <cmath>
#include <cstdint>
#include <vector>

#include "bazel/testing/catch.h"
#include "core/contract.h"
#include "sim/workloads/sampling_checks.h"

namespace recto::sim {
namespace {

using testing::chi_square;
using testing::chi_square_bound;
using testing::draws;
using testing::golden_hash;
using testing::ks_bound;
using testing::ks_distance;
using testing::Moments;
using testing::moments_of;
using testing::share_bound;

constexpr std::size_t kSamples = 200'000;
constexpr std::size_t kGoldenSamples = 10'000;

void check_moments(const std::vector<double>& samples, double mean, double variance) {
  const Moments moments = moments_of(samples);
  CHECK(std::abs(moments.mean - mean) < moments.mean_bound);
  CHECK(std::abs(moments.variance - variance) < moments.variance_bound);
}

double share_above(const std::vector<double>& samples, double threshold) {
  double above = 0;
  for (const double x : samples) above += x > threshold;
  return above / static_cast<double>(samples.size());
}

// Checks the tail, to which a Kolmogorov-Smirnov distance is nearly blind.
void check_tail(const std::vector<double>& samples, double threshold, double probability) {
  CHECK(std::abs(share_above(samples, threshold) - probability) <
        share_bound(probability, samples.size()));
}

// Checks counts of the integers 1, 2, 3, ... with given probabilities; a last bin collects the
// rest.
void check_counts(const std::vector<double>& samples, const std::vector<double>& probabilities) {
  const double n = static_cast<double>(samples.size());
  std::vector<double> observed(probabilities.size() + 1);
  std::vector<double> expected(probabilities.size() + 1);
  double rest = 1;
  for (std::size_t i = 0; i < probabilities.size(); ++i) {
    expected[i] = n * probabilities[i];
    rest -= probabilities[i];
  }
  expected.back() = n * rest;
  for (const double x : samples) {
    REQUIRE(x >= 1);
    ++observed[std::min(static_cast<std::size_t>(x) - 1, probabilities.size())];
  }
  if (expected.back() < 10) {  // all values are listed: the last bin is rounding, or a few
    CHECK(observed.back() <= 40);
    observed.pop_back();
    expected.pop_back();
  }
  CHECK(chi_square(observed, expected) < chi_square_bound(observed.size() - 1));
}

TEST_CASE("exponential draws have the mean, variance, shape and tail of the exponential") {
  const std::vector<double> samples = draws(Exponential(2.5), kSamples);
  check_moments(samples, 2.5, 2.5 * 2.5);
  check_tail(samples, 2.5 * std::log(1000.0), 1e-3);
  CHECK(ks_distance(samples, [](double x) { return 1 - std::exp(-x / 2.5); }) < ks_bound(kSamples));
}

TEST_CASE("normal draws have the mean, variance, shape and both tails of the normal") {
  std::vector<double> samples = draws(StandardNormal(), kSamples);
  check_moments(samples, 0, 1);
  check_tail(samples, 3, testing::normal_cdf(-3));
  CHECK(ks_distance(samples, testing::normal_cdf) < ks_bound(kSamples));
  for (double& sample : samples) sample = -sample;
  check_tail(samples, 3, testing::normal_cdf(-3));
}

TEST_CASE("gamma draws have the right mean, variance, shape and tail for shapes around 1") {
  for (const double shape : {0.05, 0.5, 1.0, 1.3, 4.0, 30.0}) {
    CAPTURE(shape);
    constexpr double kMean = 338;
    const double scale = kMean / shape;
    const std::vector<double> samples = draws(Gamma({.shape = shape, .mean = kMean}), kSamples);
    check_moments(samples, kMean, kMean * kMean / shape);
    CHECK(ks_distance(samples, [&](double x) { return testing::gamma_cdf(shape, x / scale); }) <
          ks_bound(kSamples));
    const double far = shape + 3 * std::sqrt(shape) + 1;
    check_tail(samples, far * scale, 1 - testing::gamma_cdf(shape, far));
  }
}

TEST_CASE("lognormal draws have the stated mean and variation, and a lognormal shape and tail") {
  for (const double cv : {0.2, 0.6, 1.3}) {
    CAPTURE(cv);
    constexpr double kMean = 161.31;
    const double deviation = std::sqrt(std::log1p(cv * cv));
    const double median = kMean / std::sqrt(1 + cv * cv);
    const std::vector<double> samples = draws(LogNormal({.mean = kMean, .cv = cv}), kSamples);
    check_moments(samples, kMean, kMean * kMean * cv * cv);
    check_tail(samples, median * std::exp(3 * deviation), testing::normal_cdf(-3));
    CHECK(ks_distance(samples, [&](double x) {
            return testing::normal_cdf(std::log(x / median) / deviation);
          }) < ks_bound(kSamples));
  }
}

TEST_CASE("Zipf draws follow k^-s for every exponent, 0 and 1 included") {
  for (const double s : {0.0, 0.5, 0.999999999, 1.0, 1.1, 2.0, 5.0}) {
    for (const std::int64_t n : {1, 2, 50, 2048}) {
      CAPTURE(s, n);
      double total = 0;
      for (std::int64_t k = 1; k <= n; ++k) total += std::pow(static_cast<double>(k), -s);
      std::vector<double> probabilities;
      for (std::int64_t k = 1; k <= n; ++k) {
        const double probability = std::pow(static_cast<double>(k), -s) / total;
        if (probability * static_cast<double>(kSamples) < 20) break;
        probabilities.push_back(probability);
      }
      const std::vector<double> samples = draws(Zipf({.n = n, .s = s}), kSamples);
      check_counts(samples, probabilities);
      CHECK(share_above(samples, static_cast<double>(n)) == 0);
    }
  }
}

TEST_CASE("Zipf needs no table: n may be a billion") {
  // P(1) = 1 / H_n with H_n = ln n + 0.5772... for s = 1.
  constexpr std::int64_t kBillion = 1'000'000'000;
  const std::vector<double> samples = draws(Zipf({.n = kBillion, .s = 1}), kSamples);
  const double harmonic = std::log(1e9) + 0.5772156649015329;
  check_tail(samples, 1, 1 - 1 / harmonic);
  check_tail(samples, 1e6, 1 - (std::log(1e6) + 0.5772156649015329) / harmonic);
}

TEST_CASE("geometric draws count the trials up to the first success") {
  for (const double p : {0.9, 0.5, 0.1}) {
    CAPTURE(p);
    std::vector<double> probabilities;
    for (double q = p; q * static_cast<double>(kSamples) >= 20; q *= 1 - p) {
      probabilities.push_back(q);
    }
    const std::vector<double> samples = draws(Geometric(p), kSamples);
    check_moments(samples, 1 / p, (1 - p) / (p * p));
    check_counts(samples, probabilities);
  }
}

TEST_CASE("geometric draws are 1 for a sure success, and bounded for the rarest") {
  RandomStream stream(1);
  const Geometric sure(1);
  for (int i = 0; i < 100; ++i) REQUIRE(sure(stream) == 1);
  check_moments(draws(Geometric(1e-9), kSamples), 1e9, 1e18);
  CHECK(Geometric(1e-300)(stream) == std::int64_t{1} << 62);
}

TEST_CASE("uniform integers reach every value of a closed interval equally often") {
  std::vector<double> samples = draws(UniformInteger({.min = -3, .max = 6}), kSamples);
  for (double& sample : samples) sample += 4;
  check_counts(samples, std::vector<double>(10, 0.1));
  RandomStream stream(1);
  CHECK(UniformInteger({.min = 5, .max = 5})(stream) == 5);
}

TEST_CASE("parameters out of range are broken contracts") {
  CHECK_THROWS_AS(Exponential(0), ContractFailure);
  CHECK_THROWS_AS(Gamma({.shape = 0, .mean = 1}), ContractFailure);
  CHECK_THROWS_AS(Gamma({.shape = 1, .mean = -1}), ContractFailure);
  CHECK_THROWS_AS(LogNormal({.mean = 1, .cv = 0}), ContractFailure);
  CHECK_THROWS_AS(Zipf({.n = 0, .s = 1}), ContractFailure);
  CHECK_THROWS_AS(Zipf({.n = 1, .s = -1}), ContractFailure);
  CHECK_THROWS_AS(Geometric(0), ContractFailure);
  CHECK_THROWS_AS(Geometric(1.5), ContractFailure);
  CHECK_THROWS_AS(UniformInteger({.min = 2, .max = 1}), ContractFailure);
}

TEST_CASE("golden hashes: the first 10,000 draws are these on every machine") {
  CHECK(golden_hash(draws(Exponential(2.5), kGoldenSamples)) == 0xac2e815b55a0ebcdu);
  CHECK(golden_hash(draws(StandardNormal(), kGoldenSamples)) == 0x968b3e25cda318d5u);
  CHECK(golden_hash(draws(Gamma({.shape = 1.3, .mean = 338}), kGoldenSamples)) ==
        0x31f106e4ce883f6bu);
  CHECK(golden_hash(draws(Gamma({.shape = 0.3, .mean = 338}), kGoldenSamples)) ==
        0xa4bc8f9d8a7dd450u);
  CHECK(golden_hash(draws(LogNormal({.mean = 161, .cv = 1.3}), kGoldenSamples)) ==
        0x486d06850bc3a587u);
  CHECK(golden_hash(draws(Zipf({.n = 2048, .s = 1.1}), kGoldenSamples)) == 0xbefb83e105dbdc95u);
  CHECK(golden_hash(draws(Geometric(0.01), kGoldenSamples)) == 0xdea95dfb21ddffeeu);
  CHECK(golden_hash(draws(UniformInteger({.min = 16, .max = 1024}), kGoldenSamples)) ==
        0xf4fbbd6c1f023c8cu);
}

}  // namespace
}  // namespace recto::sim

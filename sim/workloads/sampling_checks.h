#pragma once

// Bounds for tests that draw random numbers with fixed seeds. A correct sampler exceeds each with
// probability at most 1e-9 over the choice of the seed, so a failure indicates a fault. (The bounds
// for means and variances rely on the central limit theorem.)

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <vector>

#include "core/random_stream.h"

namespace recto::sim::testing {

// A normal variable deviates by more than this many standard deviations, in either direction, with
// probability 1e-9.
inline constexpr double kDeviations = 6.11;

// The largest distance between the samples' distribution function and `cdf`.
template <typename Cdf>
double ks_distance(std::vector<double> samples, const Cdf& cdf) {
  std::ranges::sort(samples);
  const double n = static_cast<double>(samples.size());
  double distance = 0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const double expected = cdf(samples[i]);
    distance = std::max({distance, expected - static_cast<double>(i) / n,
                         static_cast<double>(i + 1) / n - expected});
  }
  return distance;
}

// Massart, "The tight constant in the Dvoretzky-Kiefer-Wolfowitz inequality", 1990.
inline double ks_bound(std::size_t samples) {
  return std::sqrt(std::log(2e9) / (2 * static_cast<double>(samples)));
}

// Pearson's statistic. Every expected count should be at least 10.
inline double chi_square(const std::vector<double>& observed, const std::vector<double>& expected) {
  double sum = 0;
  for (std::size_t i = 0; i < observed.size(); ++i) {
    sum += (observed[i] - expected[i]) * (observed[i] - expected[i]) / expected[i];
  }
  return sum;
}

// Laurent & Massart, Annals of Statistics 28(5), 2000, lemma 1.
inline double chi_square_bound(std::size_t degrees_of_freedom) {
  const double t = std::log(1e9);
  const double d = static_cast<double>(degrees_of_freedom);
  return d + 2 * std::sqrt(d * t) + 2 * t;
}

// How far an observed share of n samples may be from its probability.
inline double share_bound(double probability, std::size_t samples) {
  return kDeviations * std::sqrt(probability * (1 - probability) / static_cast<double>(samples));
}

struct Moments {
  double mean = 0;
  double variance = 0;
  double mean_bound = 0;      // how far the mean may be off
  double variance_bound = 0;  // the same, from the samples' own fourth moment
};

inline Moments moments_of(const std::vector<double>& samples) {
  const double n = static_cast<double>(samples.size());
  Moments moments;
  for (const double x : samples) moments.mean += x / n;
  double fourth = 0;
  for (const double x : samples) {
    const double square = (x - moments.mean) * (x - moments.mean);
    moments.variance += square / n;
    fourth += square * square / n;
  }
  moments.mean_bound = kDeviations * std::sqrt(moments.variance / n);
  moments.variance_bound =
      kDeviations * std::sqrt((fourth - moments.variance * moments.variance) / n);
  return moments;
}

template <typename Distribution>
std::vector<double> draws(const Distribution& distribution, std::size_t count,
                          std::uint64_t seed = 2026) {
  RandomStream stream(seed);
  std::vector<double> samples(count);
  for (double& sample : samples) sample = static_cast<double>(distribution(stream));
  return samples;
}

// A hash of a sequence of numbers, sensitive to every bit.
class GoldenHash {
 public:
  void add(std::uint64_t word) { value_ = mix_bits(std::rotl(value_, 5) ^ word); }
  void add(std::int64_t word) { add(static_cast<std::uint64_t>(word)); }
  void add(double number) { add(std::bit_cast<std::uint64_t>(number)); }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0;
};

inline std::uint64_t golden_hash(const std::vector<double>& samples) {
  GoldenHash hash;
  for (const double sample : samples) hash.add(sample);
  return hash.value();
}

inline double normal_cdf(double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); }

// Regularised lower incomplete gamma function by its power series; for x up to about 50.
inline double gamma_cdf(double shape, double x) {
  if (x <= 0) return 0;
  double term = std::exp(shape * std::log(x) - x - std::lgamma(shape + 1));
  double sum = term;
  for (int i = 1; i < 1000 && term > 1e-17 * sum; ++i) {
    term *= x / (shape + i);
    sum += term;
  }
  return std::min(sum, 1.0);
}

}  // namespace recto::sim::testing

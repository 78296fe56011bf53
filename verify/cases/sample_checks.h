#pragma once

// Bounds for tests of samplers with fixed seeds: six standard deviations, which a correct sampler
// exceeds with probability 2e-9 over the choice of the seed.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace recto::verify {

inline constexpr double kDeviations = 6.0;

// How far an observed share of `samples` draws may be from its probability.
inline double share_bound(double probability, std::size_t samples) {
  return kDeviations * std::sqrt(probability * (1.0 - probability) / static_cast<double>(samples));
}

// The share of values for which `holds`.
template <typename Predicate>
double share_of(const std::vector<double>& values, const Predicate& holds) {
  return static_cast<double>(std::ranges::count_if(values, holds)) /
         static_cast<double>(values.size());
}

// The mean of value^power and its tolerance, estimated from the samples' own mean of value^(2
// power).
struct Moment {
  double value = 0.0;
  double bound = 0.0;
};

inline Moment moment_of(const std::vector<double>& values, int power) {
  const auto count = static_cast<double>(values.size());
  double sum = 0.0;
  double squares = 0.0;
  for (const double value : values) {
    const double raised = std::pow(value, power);
    sum += raised;
    squares += raised * raised;
  }
  const double mean = sum / count;
  return {mean, kDeviations * std::sqrt((squares / count - mean * mean) / count)};
}

// The largest distance between the samples' distribution function and a continuous `cdf`.
template <typename Cdf>
double largest_distance(std::vector<double> values, const Cdf& cdf) {
  std::ranges::sort(values);
  const auto count = static_cast<double>(values.size());
  double distance = 0.0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double expected = cdf(values[i]);
    distance = std::max({distance, expected - static_cast<double>(i) / count,
                         static_cast<double>(i + 1) / count - expected});
  }
  return distance;
}

// Exceeded with probability 2e-9 at most (Massart, "The tight constant in the
// Dvoretzky-Kiefer-Wolfowitz inequality", 1990).
inline double distance_bound(std::size_t samples) {
  return std::sqrt(std::log(1e9) / (2.0 * static_cast<double>(samples)));
}

}  // namespace recto::verify

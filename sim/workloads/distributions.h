#pragma once

// Distributions over RandomStream that give the same bits on every machine, which those of std:: do
// not guarantee. Each is a small value type: built once with its parameters, then called with a
// stream. Parameters out of range are a broken contract; external text is checked before it gets
// here (length_distribution.h, workload_specs.h).

#include <cstdint>

#include "core/random_stream.h"

namespace recto::sim {

// Exponential with mean `mean` > 0, by inversion. One draw.
class Exponential {
 public:
  explicit Exponential(double mean);
  double operator()(RandomStream& stream) const;

 private:
  double mean_;
};

// Normal with mean 0 and variance 1: the polar method (Marsaglia & Bray, SIAM Review 6(3), 1964),
// discarding its second value, so that a draw depends only on the stream. 2.55 draws on average.
class StandardNormal {
 public:
  double operator()(RandomStream& stream) const;
};

struct GammaOptions {
  double shape = 1;  // > 0; the coefficient of variation is 1 / sqrt(shape)
  double mean = 1;   // > 0
};

// Marsaglia & Tsang, "A simple method for generating gamma variables", ACM TOMS 26(3), 2000. For
// shape < 1, a draw for shape + 1 is multiplied by U^(1 / shape), as in the paper. Acceptance is
// above 95 %.
class Gamma {
 public:
  explicit Gamma(GammaOptions options);
  double operator()(RandomStream& stream) const;

 private:
  double small_shape_ = 0;  // the shape if it is below 1, else 0: no power of a uniform needed
  double d_;                // names d and c as in the paper
  double c_;
  double scale_;
};

struct LogNormalOptions {
  double mean = 1;  // > 0, of the variable itself, not of its logarithm
  double cv = 1;    // > 0, coefficient of variation: standard deviation over mean
};

class LogNormal {
 public:
  explicit LogNormal(LogNormalOptions options);
  double operator()(RandomStream& stream) const;

 private:
  double log_mean_;
  double log_deviation_;
};

struct ZipfOptions {
  std::int64_t n = 1;  // 1 ... 2^50
  double s = 1;        // >= 0; 0 is uniform
};

// P(k) proportional to k^-s for k in 1 ... n, by rejection-inversion (Hoermann & Derflinger, ACM
// TOMACS 6(3), 1996): O(1) time and memory for any n.
class Zipf {
 public:
  explicit Zipf(ZipfOptions options);
  std::int64_t operator()(RandomStream& stream) const;

 private:
  double weight(double x) const;    // h in the paper: x^-s
  double integral(double x) const;  // H: integral of h from 1 to x
  double inverse_integral(double area) const;

  ZipfOptions options_;
  double area_low_;
  double area_high_;
  double sure_width_;  // a draw this close to its integer is accepted at once
};

// The number of trials up to and including the first success; each succeeds with probability
// `success` in (0, 1]. By inversion: one draw. Saturates at 2^62.
class Geometric {
 public:
  explicit Geometric(double success);
  std::int64_t operator()(RandomStream& stream) const;

 private:
  double log_failure_;
};

struct UniformIntegerOptions {
  std::int64_t min = 0;
  std::int64_t max = 0;  // inclusive, >= min, and max - min < 2^63
};

// Uniform over [min, max], without modulo bias.
class UniformInteger {
 public:
  explicit UniformInteger(UniformIntegerOptions options);
  std::int64_t operator()(RandomStream& stream) const;

 private:
  UniformIntegerOptions options_;
};

}  // namespace recto::sim

#include "sim/workloads/distributions.h"

#include <algorithm>
#include <cmath>

#include "core/contract.h"
#include "sim/workloads/portable_math.h"

namespace recto::sim {
namespace {

// log(U) with U uniform in (0, 1]: never minus infinity.
double log_of_uniform(RandomStream& stream) { return portable_log(1 - stream.next_unit()); }

}  // namespace

Exponential::Exponential(double mean) : mean_(mean) { RECTO_CHECK_GT(mean, 0); }

double Exponential::operator()(RandomStream& stream) const {
  return -mean_ * log_of_uniform(stream);
}

double StandardNormal::operator()(RandomStream& stream) const {
  for (;;) {
    const double x = 2 * stream.next_unit() - 1;
    const double y = 2 * stream.next_unit() - 1;
    const double square = x * x + y * y;
    if (square < 1 && square > 0) return x * std::sqrt(-2 * portable_log(square) / square);
  }
}

Gamma::Gamma(GammaOptions options) {
  RECTO_CHECK_GT(options.shape, 0);
  RECTO_CHECK_GT(options.mean, 0);
  const double shape = options.shape < 1 ? options.shape + 1 : options.shape;
  if (options.shape < 1) small_shape_ = options.shape;
  d_ = shape - 1.0 / 3;
  c_ = 1 / std::sqrt(9 * d_);
  scale_ = options.mean / options.shape;
}

double Gamma::operator()(RandomStream& stream) const {
  const StandardNormal normal;
  for (;;) {
    const double x = normal(stream);
    const double root = 1 + c_ * x;
    if (root <= 0) continue;
    const double v = root * root * root;
    const double log_u = log_of_uniform(stream);
    if (log_u >= 0.5 * x * x + d_ * (1 - v + portable_log(v))) continue;
    if (small_shape_ == 0) return scale_ * d_ * v;
    return scale_ * d_ * v * portable_exp(log_of_uniform(stream) / small_shape_);
  }
}

// If log X is normal with variance t and mean m, then E X = exp(m + t / 2) and
// cv^2 = exp(t) - 1.
LogNormal::LogNormal(LogNormalOptions options) {
  RECTO_CHECK_GT(options.mean, 0);
  RECTO_CHECK_GT(options.cv, 0);
  const double log_variance = portable_log1p(options.cv * options.cv);
  log_mean_ = portable_log(options.mean) - 0.5 * log_variance;
  log_deviation_ = std::sqrt(log_variance);
}

double LogNormal::operator()(RandomStream& stream) const {
  return portable_exp(log_mean_ + log_deviation_ * StandardNormal()(stream));
}

// The area under h from 1/2 to 1 is replaced by a bar of height h(1) = 1, so that k = 1 is not a
// special case; hence the -1.
Zipf::Zipf(ZipfOptions options) : options_(options) {
  constexpr std::int64_t kLargestN = std::int64_t{1} << 50;
  RECTO_CHECK_GE(options.n, 1);
  RECTO_CHECK_LE(options.n, kLargestN);
  RECTO_CHECK_GE(options.s, 0);
  area_low_ = integral(1.5) - 1;
  area_high_ = integral(static_cast<double>(options.n) + 0.5);
  sure_width_ = 2 - inverse_integral(integral(2.5) - weight(2));
}

std::int64_t Zipf::operator()(RandomStream& stream) const {
  const double n = static_cast<double>(options_.n);
  for (;;) {
    const double area = area_high_ + stream.next_unit() * (area_low_ - area_high_);
    const double x = inverse_integral(area);
    const double k = std::clamp(std::floor(x + 0.5), 1.0, n);
    if (k - x <= sure_width_ || area >= integral(k + 0.5) - weight(k)) {
      return static_cast<std::int64_t>(k);
    }
  }
}

double Zipf::weight(double x) const { return portable_exp(-options_.s * portable_log(x)); }

// (x^(1-s) - 1) / (1 - s), written so that it tends to log(x) as s tends to 1.
double Zipf::integral(double x) const {
  const double log_x = portable_log(x);
  const double t = (1 - options_.s) * log_x;
  return t == 0 ? log_x : log_x * (portable_expm1(t) / t);
}

double Zipf::inverse_integral(double area) const {
  const double t = std::max(area * (1 - options_.s), -1.0);  // rounding may give less than -1
  return portable_exp(t == 0 ? area : area * (portable_log1p(t) / t));
}

Geometric::Geometric(double success) : log_failure_(portable_log1p(-success)) {
  RECTO_CHECK_GT(success, 0);
  RECTO_CHECK_LE(success, 1);
}

// P(trials > k) = failure^k, so trials = 1 + floor(log(U) / log(failure)). A sure success has
// log(failure) = -infinity and gives 1.
std::int64_t Geometric::operator()(RandomStream& stream) const {
  constexpr std::int64_t kSaturation = std::int64_t{1} << 62;
  const double failures = std::floor(log_of_uniform(stream) / log_failure_);
  if (failures >= static_cast<double>(kSaturation)) return kSaturation;
  return 1 + static_cast<std::int64_t>(failures);
}

UniformInteger::UniformInteger(UniformIntegerOptions options) : options_(options) {
  RECTO_CHECK_LE(options.min, options.max);
}

std::int64_t UniformInteger::operator()(RandomStream& stream) const {
  const std::uint64_t span =
      static_cast<std::uint64_t>(options_.max) - static_cast<std::uint64_t>(options_.min);
  return options_.min + static_cast<std::int64_t>(stream.next_below(span + 1));
}

}  // namespace recto::sim

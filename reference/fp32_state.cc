#include "reference/fp32_state.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace recto::reference {
namespace {

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();
constexpr float kLn2 = 0.693147181F;

Fp32State in_fp32(const SoftmaxState& state) {
  Fp32State rounded(state.weighted.size(), {});
  rounded.maximum = static_cast<float>(state.maximum);
  rounded.sum = static_cast<float>(state.sum);
  std::transform(state.weighted.begin(), state.weighted.end(), rounded.weighted.begin(),
                 [](double value) { return static_cast<float>(value); });
  return rounded;
}

bool has_no_keys(const Fp32State& state) {
  return state.sum == 0.0F && state.maximum == kMinusInfinity;
}

// The larger number; +0 for two zeros, in either order.
float larger(float a, float b) {
  if (a == b) return std::signbit(a) ? b : a;
  return std::max(a, b);
}

}  // namespace

Fp32State::Fp32State(std::int64_t head_dim_v, const Fp32Arithmetic& arithmetic_of_all)
    : arithmetic(arithmetic_of_all), weighted(static_cast<std::size_t>(head_dim_v)) {}

Fp32State Fp32State::of_sink(std::int64_t head_dim_v, float sink,
                             const Fp32Arithmetic& arithmetic) {
  Fp32State state(head_dim_v, arithmetic);
  state.maximum = sink;
  state.sum = 1.0F;
  return state;
}

void Fp32State::rescale(float new_maximum) {
  const float factor =
      maximum == new_maximum ? 1.0F : arithmetic.power(arithmetic.flushed(maximum - new_maximum));
  sum = arithmetic.flushed(sum * factor);
  for (float& value : weighted) value = arithmetic.flushed(value * factor);
  maximum = new_maximum;
}

float Fp32State::lse_ln() const {
  if (sum == 0.0F) return kMinusInfinity;
  const float in_base = arithmetic.flushed(maximum + arithmetic.logarithm(sum));
  return arithmetic.base == ExponentialBase::kE ? in_base : arithmetic.flushed(in_base * kLn2);
}

void merge_into(Fp32State& whole, Fp32State part) {
  // As merge() in fp64 does, for the same reasons.
  if (has_no_keys(part)) return;
  if (has_no_keys(whole)) {
    whole = std::move(part);
    return;
  }
  const Fp32Arithmetic& arithmetic = whole.arithmetic;
  const float maximum = larger(part.maximum, whole.maximum);
  part.rescale(maximum);
  whole.rescale(maximum);
  whole.sum = arithmetic.flushed(whole.sum + part.sum);
  for (std::size_t dim = 0; dim < whole.weighted.size(); ++dim) {
    whole.weighted[dim] = arithmetic.flushed(whole.weighted[dim] + part.weighted[dim]);
  }
}

float finish(const Fp32State& state, std::span<float> out) {
  for (std::size_t dim = 0; dim < out.size(); ++dim) {
    out[dim] = state.sum == 0.0F ? 0.0F : state.arithmetic.flushed(state.weighted[dim] / state.sum);
  }
  return state.lse_ln();
}

float combine_normalised(std::span<const Fp32State> parts, std::span<float> out) {
  std::fill(out.begin(), out.end(), 0.0F);
  float largest = kMinusInfinity;
  for (const Fp32State& part : parts) largest = std::max(largest, part.lse_ln());
  if (largest == kMinusInfinity) return largest;
  const Fp32Arithmetic& arithmetic = parts.front().arithmetic;
  const auto share_of = [&arithmetic](const Fp32State& part, float lse_ln) {
    return arithmetic.exp(arithmetic.flushed(part.lse_ln() - lse_ln));
  };
  float sum = 0.0F;
  for (const Fp32State& part : parts) {
    sum = arithmetic.flushed(sum + share_of(part, largest));
  }
  const float lse_ln = arithmetic.flushed(largest + arithmetic.log(sum));
  for (const Fp32State& part : parts) {
    const float share = share_of(part, lse_ln);
    for (std::size_t dim = 0; dim < out.size(); ++dim) {
      const float own = arithmetic.flushed(part.weighted[dim] / part.sum);
      out[dim] = arithmetic.flushed(out[dim] + arithmetic.flushed(share * own));
    }
  }
  return lse_ln;
}

SoftmaxState merge_in_fp32(const SoftmaxState& a, const SoftmaxState& b) {
  Fp32State whole = in_fp32(a);
  merge_into(whole, in_fp32(b));
  SoftmaxState merged = SoftmaxState::identity(a.weighted.size());
  merged.maximum = whole.maximum;
  merged.sum = whole.sum;
  std::copy(whole.weighted.begin(), whole.weighted.end(), merged.weighted.begin());
  return merged;
}

}  // namespace recto::reference

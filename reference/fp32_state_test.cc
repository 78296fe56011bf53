#include "reference/fp32_state.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "bazel/testing/catch.h"

namespace recto::reference {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

Fp32State state(ExponentialBase base, float score, float value) {
  Fp32State of_key =
      Fp32State::of_sink(1, base == ExponentialBase::kE ? score : score * kLog2E, {.base = base});
  of_key.weighted[0] = value;
  return of_key;
}

TEST_CASE("two keys merge to their softmax, in either base and either way of merging") {
  for (const ExponentialBase base : {ExponentialBase::kE, ExponentialBase::kTwo}) {
    const std::vector<Fp32State> parts = {state(base, 1.0F, 10.0F), state(base, 3.0F, 20.0F)};
    Fp32State whole(1, {.base = base});
    for (const Fp32State& part : parts) merge_into(whole, part);
    const double share = 1 / (1 + std::exp(2.0));
    std::vector<float> out(1);
    CHECK(finish(whole, out) == Approx(3 + std::log1p(std::exp(-2.0))).epsilon(1e-6));
    CHECK(out[0] == Approx(10 * share + 20 * (1 - share)).epsilon(1e-6));
    CHECK(combine_normalised(parts, out) == Approx(3 + std::log1p(std::exp(-2.0))).epsilon(1e-6));
    CHECK(out[0] == Approx(10 * share + 20 * (1 - share)).epsilon(1e-6));
  }
}

TEST_CASE("merging in fp32 commutes for zeros of either sign, and the identity keeps their sign") {
  const auto bits = [](const SoftmaxState& merged) {
    return std::vector{std::bit_cast<std::uint64_t>(merged.maximum),
                       std::bit_cast<std::uint64_t>(merged.weighted[0])};
  };
  const SoftmaxState positive{.maximum = 0.0, .sum = 1.0, .weighted = Vector::Constant(1, 3.0)};
  const SoftmaxState negative{.maximum = -0.0, .sum = 1.0, .weighted = Vector::Constant(1, -0.0)};
  const SoftmaxState identity = SoftmaxState::identity(1);
  CHECK(bits(merge_in_fp32(positive, negative)) == bits(merge_in_fp32(negative, positive)));
  CHECK(bits(merge_in_fp32(negative, identity)) == bits(negative));
  CHECK(bits(merge_in_fp32(identity, negative)) == bits(negative));
}

TEST_CASE("a NaN sum in fp32 is not taken for a state without keys") {
  Fp32State lost(1, {});
  lost.sum = std::numeric_limits<float>::quiet_NaN();
  Fp32State whole = state(ExponentialBase::kE, 1.0F, 10.0F);
  merge_into(whole, lost);
  CHECK(std::isnan(whole.sum));
  Fp32State none(1, {});
  merge_into(none, lost);
  CHECK(std::isnan(none.sum));
}

TEST_CASE("an fp32 state without keys gives zero, with minus infinity or the sink as its lse") {
  std::vector<float> out = {7.0F};
  CHECK(finish(Fp32State(1, {}), out) == -kInfinity);
  CHECK(out[0] == 0.0F);
  CHECK(combine_normalised({}, out) == -kInfinity);
  const std::vector<Fp32State> sink = {Fp32State::of_sink(1, 5.0F, {})};
  CHECK(combine_normalised(sink, out) == 5.0F);
  CHECK(out[0] == 0.0F);
}

}  // namespace
}  // namespace recto::reference

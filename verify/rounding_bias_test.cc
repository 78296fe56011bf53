// fp64 attention with outputs rounded, or truncated, to 16 bits: the finding for either.

#include "verify/rounding_bias.h"

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <optional>

#include "bazel/testing/catch.h"
#include "reference/low_precision_attention.h"
#include "reference/numerics.h"
#include "reference/rounding.h"
#include "verify/cases/case_spec.h"

namespace recto::verify {
namespace {

using reference::AttentionResult;

CaseSpec spec_of(ElementType type, std::uint64_t seed) {
  CaseSpec spec;
  spec.shape = {.num_q_heads = 4,
                .num_kv_heads = 2,
                .head_dim_k = 8,
                .head_dim_v = 16,
                .q_type = type,
                .kv_type = type};
  spec.options.scale = 0.25F;
  spec.sequences = {{.num_rows = 1, .context_length = 20, .id = 0},
                    {.num_rows = 2, .context_length = 33, .id = 1}};
  spec.q = spec.k = spec.v = FloatFamily::kNormal;
  spec.seed = seed;
  return spec;
}

double cut_off(double value, ElementType type) {
  const double nearest = reference::round_to(value, type);
  if (std::abs(nearest) <= std::abs(value)) return nearest;
  int exponent = 0;
  std::frexp(value, &exponent);
  return nearest - std::copysign(std::ldexp(reference::unit_roundoff(type), exponent), value);
}

enum class Rounding { kNearest, kCutOff };

RoundingBias bias_of(ElementType type, Rounding rounding, std::uint64_t cases) {
  RoundingBias bias;
  for (std::uint64_t seed = 0; seed < cases; ++seed) {
    const CaseSpec spec = spec_of(type, seed);
    const PlacedProblem placed(make_problem(spec), spec.placement);
    const PagedAttentionInputs& inputs = placed.inputs();
    const auto oracle =
        reference::bounded_attention(inputs, reference::third_party_numerics(type, type));
    AttentionResult seen = oracle.exact;
    for (double& out : seen.out)
      out = rounding == Rounding::kCutOff ? cut_off(out, type) : reference::round_to(out, type);
    bias.add(inputs, seen, oracle);
  }
  return bias;
}

TEST_CASE("truncated outputs are reported as off by half an ulp, once there are enough of them") {
  for (const ElementType type : {ElementType::kFp16, ElementType::kBf16}) {
    const auto finding = bias_of(type, Rounding::kCutOff, 80).finding();
    REQUIRE(finding);
    CHECK(finding->type == type);
    CHECK(finding->contexts == 320);
    CHECK(std::abs(finding->ulps - 0.5) < 0.02);
    CHECK(!bias_of(type, Rounding::kCutOff, 20).finding());
  }
}

TEST_CASE("outputs that are rounded to nearest are not reported, however many there are") {
  for (const ElementType type : {ElementType::kFp16, ElementType::kBf16})
    CHECK(!bias_of(type, Rounding::kNearest, 1000).finding());
}

TEST_CASE("a kernel of low precision that rounds at every step is not reported") {
  RoundingBias bias;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const CaseSpec spec = spec_of(ElementType::kBf16, seed);
    const PlacedProblem placed(make_problem(spec), spec.placement);
    const PagedAttentionInputs& inputs = placed.inputs();
    bias.add(inputs, reference::low_precision_attention(inputs, {}),
             reference::bounded_attention(
                 inputs, reference::third_party_numerics(inputs.q.type, inputs.kv.k.type)));
  }
  CHECK(!bias.finding());
}

TEST_CASE("outputs in fp32, and exact outputs, are not reported") {
  CHECK(!bias_of(ElementType::kFp32, Rounding::kCutOff, 80).finding());
  RoundingBias bias;
  CHECK(!bias.finding());
  CaseSpec spec = spec_of(ElementType::kFp16, 0);
  spec.v = FloatFamily::kOnes;
  const PlacedProblem placed(make_problem(spec), spec.placement);
  const auto oracle = reference::bounded_attention(
      placed.inputs(), reference::third_party_numerics(ElementType::kFp16, ElementType::kFp16));
  for (int i = 0; i < 1000; ++i) bias.add(placed.inputs(), oracle.exact, oracle);
  CHECK(!bias.finding());
}

}  // namespace
}  // namespace recto::verify

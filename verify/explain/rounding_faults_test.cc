// fp64 attention whose weights, fp8 values and outputs are rounded to bf16, or truncated: the
// report names what is truncated, and nothing for rounding.

#include "verify/explain/explanation.h"

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "reference/kv_cache_reader.h"
#include "reference/low_precision_attention.h"
#include "reference/rounding.h"
#include "verify/cases/case_spec.h"

namespace recto::verify {
namespace {

using reference::Matrix;

using ToBf16 = double (*)(double value);

double nearest(double value) { return reference::round_to(value, ElementType::kBf16); }
double upper_half(double value) {
  const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
  return std::bit_cast<float>(bits & 0xffff0000U);
}

struct Roundings {
  ToBf16 weights = nearest;
  ToBf16 cache = nearest;
  ToBf16 outputs = nearest;
};

// One row of one head.
Backend rounding_backend(const Roundings& to_bf16) {
  Backend backend;
  backend.name = "rounding";
  backend.refusal = [](const PagedAttentionInputs&, const CallOptions&) { return std::nullopt; };
  backend.numerics_of = [](const PagedAttentionInputs& inputs, const CallOptions&) {
    return reference::low_precision_numerics(inputs,
                                             {.dequantised = reference::Dequantised::kQueryType});
  };
  backend.attend = always_done([to_bf16](const PagedAttentionInputs& inputs) {
    const std::int64_t keys = inputs.context_length[0];
    const std::int32_t* const blocks = inputs.block_table.data;
    const Matrix q = reference::read_rows(inputs.q, 0, 0, 1);
    const Matrix k = reference::gather_head(inputs.kv.k, blocks, keys, 0).unaryExpr(to_bf16.cache);
    const Matrix v = reference::gather_head(inputs.kv.v, blocks, keys, 0).unaryExpr(to_bf16.cache);
    const Matrix scores = static_cast<double>(inputs.options.scale) * q * k.transpose();
    const Matrix weights = (scores.array() - scores.maxCoeff()).exp();
    const Matrix out = weights.unaryExpr(to_bf16.weights) * v / weights.sum();
    reference::AttentionResult result(1, 1, v.cols());
    for (std::int64_t dim = 0; dim < v.cols(); ++dim)
      result.out_at(0, 0, dim) = to_bf16.outputs(out(0, dim));
    result.lse_ln_at(0, 0) = scores.maxCoeff() + std::log(weights.sum());
    return result;
  });
  return backend;
}

// All V between 1 and 2, so that truncation errors accumulate and outputs have large steps.
LawCase positive_case() {
  CaseSpec spec;
  spec.shape = {.head_dim_k = 16,
                .head_dim_v = 64,
                .q_type = ElementType::kBf16,
                .kv_type = ElementType::kBf16};
  spec.options.scale = 0.25F;
  spec.sequences = {{.num_rows = 1, .context_length = 1000}};
  spec.q = spec.k = FloatFamily::kUniform;
  spec.v = FloatFamily::kNormal;
  spec.placement.block_size = 16;
  LawCase law_case{make_problem(spec), spec.placement};
  std::vector<float>& v = law_case.problem.sequences[0].v;
  for (std::size_t i = 0; i < v.size(); ++i) {
    const double around = 1 + static_cast<double>(i % 64) / 512;
    v[i] =
        static_cast<float>(reference::round_to(around + std::abs(v[i]) / 16, ElementType::kBf16));
  }
  return law_case;
}

// K is 1.2575; its neighbours in bf16 are 1.25 and 1.2578125.
LawCase scaled_case() {
  CaseSpec spec;
  spec.shape = {.head_dim_k = 16, .q_type = ElementType::kBf16, .kv_type = ElementType::kE4m3};
  // Within these bounds the sum may also be one of 18 keys, a number at which no block ends.
  spec.placement.block_size = 16;
  spec.options.k_scales = ScaleKind::kPerTensor;
  spec.sequences = {{.num_rows = 1, .context_length = 20}};
  LawCase law_case{make_problem(spec), spec.placement};
  law_case.problem.k_scales = {1.2575F};
  return law_case;
}

Explanation explained(const Roundings& to_bf16, const LawCase& law_case) {
  return explain(rounding_backend(to_bf16), law_case, BoundKind::kProbabilistic);
}

void check_named(const Roundings& to_bf16, const LawCase& law_case, const std::string& what) {
  const Explanation explanation = explained(to_bf16, law_case);
  INFO(explanation_text(explanation, law_case));
  REQUIRE(explanation.is_wrong());
  REQUIRE(explanation.faults.fitting.size() == 1);
  const std::string& named = explanation.faults.fitting[0];
  CHECK((named.starts_with(what + " are cut off to bf16, not rounded to nearest")));
}

TEST_CASE("results rounded to nearest are right") {
  for (const LawCase& law_case : {positive_case(), scaled_case()}) {
    const Explanation explanation = explained({}, law_case);
    INFO(explanation.comparison.text());
    CHECK_FALSE(explanation.is_wrong());
  }
}

TEST_CASE("truncated weights, outputs and codes are named") {
  check_named({.weights = upper_half}, positive_case(), "weights");
  check_named({.outputs = upper_half}, positive_case(), "outputs");
  check_named({.weights = upper_half, .outputs = upper_half}, positive_case(),
              "weights and outputs");
  check_named({.cache = upper_half}, scaled_case(), "K and V out of fp8");
}

}  // namespace
}  // namespace recto::verify

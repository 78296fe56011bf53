// fp64 kernels whose sum of weights is too small or too large: the report says which, with its
// possible causes only; and sinks that are read at the wrong place.

#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "reference/kv_cache_reader.h"
#include "reference/numerics.h"
#include "verify/cases/case_spec.h"
#include "verify/explain/diagnosis.h"
#include "verify/explain/explanation.h"
#include "verify/qa/canary.h"

namespace recto::verify {
namespace {

using Catch::Matchers::ContainsSubstring;

// How often the first two keys are counted; the defaults are right.
struct Counts {
  double in_out = 1.0;      // in the weights that V is multiplied by
  double in_divisor = 1.0;  // in the sum by which out is divided
  double in_lse_ln = 1.0;
};

// Decode of one sequence and one head, with its sink.
Backend counting(const Counts& counts) {
  Backend backend = canary_backend("counting", Fault::kNone);
  backend.attend = always_done([counts](const PagedAttentionInputs& inputs) {
    const std::int64_t keys = inputs.context_length[0];
    const auto k = reference::gather_head(inputs.kv.k, inputs.block_table.data, keys, 0);
    const auto v = reference::gather_head(inputs.kv.v, inputs.block_table.data, keys, 0);
    const reference::Vector scores = k * reference::read_rows(inputs.q, 0, 0, 1).transpose() *
                                     static_cast<double>(inputs.options.scale);
    reference::AttentionResult result(1, 1, v.cols());
    const std::span<const float> sinks = inputs.options.sinks;
    const double sink = sinks.empty() ? 0.0 : std::exp(static_cast<double>(sinks[0]));
    double divisor = sink;
    double sum = sink;
    for (std::int64_t key = 0; key < keys; ++key) {
      const double weight = std::exp(scores[key]);
      divisor += weight * (key < 2 ? counts.in_divisor : 1.0);
      sum += weight * (key < 2 ? counts.in_lse_ln : 1.0);
      for (std::int64_t dim = 0; dim < v.cols(); ++dim)
        result.out_at(0, 0, dim) += weight * v(key, dim) * (key < 2 ? counts.in_out : 1.0);
    }
    for (double& out : result.out) out /= divisor;
    result.lse_ln_at(0, 0) = std::log(sum);
    return result;
  });
  // fp32 bounds, as for libraries.
  backend.numerics_of = [](const PagedAttentionInputs& inputs, const CallOptions&) {
    return reference::third_party_numerics(inputs.q.type, inputs.kv.k.type);
  };
  return backend;
}

CaseSpec decode(std::int64_t keys, SinkFamily sinks) {
  CaseSpec spec;
  spec.shape = {.num_q_heads = 1, .num_kv_heads = 1, .head_dim_k = 4, .head_dim_v = 3};
  spec.sequences = {{.num_rows = 1, .context_length = keys}};
  spec.q = spec.k = spec.v = FloatFamily::kNormal;
  spec.options.scale = 0.5F;
  spec.options.sinks = sinks;
  spec.placement.block_size = 4;
  spec.seed = 5;
  return spec;
}

// The reason given, for the expected step.
std::string why_of(const Counts& counts, Step step, SinkFamily sinks = SinkFamily::kNone) {
  const CaseSpec spec = decode(6, sinks);
  const LawCase law_case{make_problem(spec), spec.placement};
  const Explanation explanation = explain(counting(counts), law_case, BoundKind::kProbabilistic);
  INFO(explanation_text(explanation, law_case));
  CHECK(explanation.is_wrong());
  CHECK(explanation.diagnosis.step == step);
  return explanation.diagnosis.why;
}

TEST_CASE("the right kernel has no findings") {
  for (const SinkFamily sinks : {SinkFamily::kNone, SinkFamily::kNormal}) {
    const CaseSpec spec = decode(6, sinks);
    CHECK_FALSE(
        explain(counting({}), {make_problem(spec), spec.placement}, BoundKind::kProbabilistic)
            .is_wrong());
  }
}

TEST_CASE("a sum that is too small is explained by missing keys alone") {
  const std::string why = why_of({.in_divisor = 0.0, .in_lse_ln = 0.0}, Step::kSum);
  CHECK_THAT(why, ContainsSubstring("since the sum is too small, 0.") &&
                      ContainsSubstring(": keys that weigh V are missing from it"));
  CHECK_THAT(why, !ContainsSubstring("joins") && !ContainsSubstring("more than once") &&
                      !ContainsSubstring("sink"));
  CHECK_THAT(why_of({.in_divisor = 0.0, .in_lse_ln = 0.0}, Step::kSum, SinkFamily::kNormal),
             ContainsSubstring(" are missing from it, or the sink's share is"));
}

TEST_CASE("a sum that is too large is explained by an unscaled part or by additional keys") {
  const std::string why = why_of({.in_divisor = 2.0, .in_lse_ln = 2.0}, Step::kSum);
  CHECK_THAT(why, ContainsSubstring("since the sum is too large, 1.") &&
                      ContainsSubstring(": a part of it is not rescaled, where the maximum grows "
                                        "or parts are merged, keys are counted in it more than "
                                        "once, or it includes keys that the row does not see"));
  CHECK_THAT(why, !ContainsSubstring("missing") && !ContainsSubstring("sink"));
}

TEST_CASE(
    "a sum larger than missing rescaling allows is explained by keys counted more than once") {
  const auto told = [](double times) {
    return why_of({.in_divisor = times, .in_lse_ln = times}, Step::kSum);
  };
  CHECK_THAT(told(2.0), ContainsSubstring("a part of it is not rescaled"));
  CHECK_THAT(told(4.0), ContainsSubstring("what it should be: keys are counted in it more than"));
}

TEST_CASE("a single key counted twice, or not at all, is explained by the sum") {
  const auto why_of_one = [](double times) {
    const CaseSpec spec = decode(1, SinkFamily::kNone);
    const Counts counts{.in_divisor = times, .in_lse_ln = times};
    return explain(counting(counts), {make_problem(spec), spec.placement},
                   BoundKind::kProbabilistic)
        .diagnosis;
  };
  CHECK(why_of_one(2.0).step == Step::kSum);
  CHECK_THAT(why_of_one(2.0).why,
             ContainsSubstring("the score of the only key is right; it gets 0.5 of the weight in "
                               "place of 1, since the sum is too large, 2 times what it should "
                               "be: keys are counted in it more than once"));
  CHECK(why_of_one(0.0).step == Step::kSum);
  CHECK_THAT(
      why_of_one(0.0).why,
      ContainsSubstring("the lse is -inf and weights are NaN: they are divided by their sum"));
}

TEST_CASE("a wrong divisor beside a right lse is explained as too small or too large") {
  CHECK_THAT(why_of({.in_divisor = 0.0}, Step::kWeights),
             ContainsSubstring(
                 "divided by a sum that is too small (keys that weigh V are missing from it)"));
  CHECK_THAT(
      why_of({.in_divisor = 2.0}, Step::kWeights),
      ContainsSubstring("divided by a sum that is too large (a part of it is not rescaled, ") &&
          ContainsSubstring("keys are counted in it more than once"));
}

TEST_CASE(
    "keys of too much weight are explained by missing rescaling, of too little by lost sums") {
  const auto counted = [](double times) {
    return why_of({.in_out = times, .in_divisor = times, .in_lse_ln = times}, Step::kSum);
  };
  CHECK_THAT(
      counted(2.0),
      ContainsSubstring("keys 0, 1 weigh 2 times what they should relative to the 4 others: "
                        "partial sums that are not rescaled, or keys that are counted more"));
  CHECK_THAT(
      counted(0.5),
      ContainsSubstring("keys 0, 1 weigh 0.5 times what they should relative to the 4 others: "
                        "partial sums that are rescaled too often, or lost in part"));
}

TEST_CASE("a sum is blamed only if the weights add up to its error") {
  const CaseSpec spec = decode(6, SinkFamily::kNone);
  const LawCase law_case{make_problem(spec), spec.placement};
  const auto diagnosed = [&](const Counts& counts) -> std::optional<Diagnosis> {
    const Explanation explanation = explain(counting(counts), law_case, BoundKind::kProbabilistic);
    if (!explanation.is_wrong()) return std::nullopt;
    return explanation.diagnosis;
  };
  std::int64_t small = 0;
  std::int64_t told = 0;
  for (double off = 1e-7; off < 1e-3; off *= 1.1) {
    const double times = 1.0 + off;
    // Keys with more weight do not change the divisor alone.
    const auto weigh = diagnosed({.in_out = times, .in_divisor = times, .in_lse_ln = times});
    INFO(off);
    if (weigh) {
      CHECK_THAT(weigh->why, !ContainsSubstring("since the sum is"));
      if (weigh->step == Step::kUnknown) {
        ++small;
        CHECK_THAT(weigh->why, ContainsSubstring("too small to identify the step"));
      }
    }
    const auto divide = diagnosed({.in_divisor = times, .in_lse_ln = times});
    if (!divide || divide->step != Step::kSum) continue;
    ++told;
    CHECK_THAT(divide->why, ContainsSubstring("since the sum is too large") &&
                                ContainsSubstring(", or it is rounded to few bits"));
  }
  CHECK(small > 0);
  CHECK(told > 10);
}

// Changes the weights in the products with V, but not those in the sum.
TEST_CASE("weights rounded before the products are distinguished from V of other keys") {
  CHECK_THAT(why_of({.in_out = 0.996}, Step::kWeights),
             ContainsSubstring("each off by less than 1 %: weights that are rounded before"));
  CHECK_THAT(why_of({.in_out = 0.9}, Step::kOutput), ContainsSubstring("V's addresses or scale"));
}

TEST_CASE("a key with the V of another key is reported as an address of V") {
  const CaseSpec spec = decode(6, SinkFamily::kNone);
  const LawCase law_case{make_problem(spec), spec.placement};
  Backend wrong = counting({});
  wrong.attend = always_done([right = wrong](const PagedAttentionInputs& inputs) {
    reference::AttentionResult result = result_of(right.call(inputs));
    const auto v = reference::gather_head(inputs.kv.v, inputs.block_table.data, 6, 0);
    const auto k = reference::gather_head(inputs.kv.k, inputs.block_table.data, 6, 0);
    const double score = (reference::read_rows(inputs.q, 0, 0, 1) * k.row(3).transpose())(0, 0) *
                         static_cast<double>(inputs.options.scale);
    const double weight = std::exp(score - result.lse_ln_at(0, 0));
    for (std::int64_t dim = 0; dim < v.cols(); ++dim)
      result.out_at(0, 0, dim) += weight * (v(2, dim) - v(3, dim));
    // Makes them exactly zero in probes.
    for (double& out : result.out) out = std::abs(out) < 1e-12 ? 0.0 : out;
    return result;
  });
  const Explanation explanation = explain(wrong, law_case, BoundKind::kProbabilistic);
  INFO(explanation_text(explanation, law_case));
  CHECK(explanation.diagnosis.step == Step::kOutput);
  CHECK_THAT(explanation.diagnosis.why,
             ContainsSubstring("V of other keys gets the weights of key 3, V's addresses"));
}

// Decode of heads in two groups.
Explanation with_sinks_read_by(const std::vector<std::size_t>& places) {
  Backend wrong = canary_backend("wrong", Fault::kNone);
  wrong.attend = always_done([right = wrong, places](const PagedAttentionInputs& inputs) {
    std::vector<float> read;
    for (const std::size_t place : places) read.push_back(inputs.options.sinks[place]);
    PagedAttentionInputs changed = inputs;
    changed.options.sinks = read;
    return result_of(right.call(changed));
  });
  CaseSpec spec = decode(9, SinkFamily::kNormal);
  spec.shape.num_q_heads = 4;
  spec.shape.num_kv_heads = 2;
  return explain(wrong, {make_problem(spec), spec.placement}, BoundKind::kProbabilistic);
}

TEST_CASE("sinks that are read by KV head are named, and right ones are not") {
  CHECK_FALSE(with_sinks_read_by({0, 1, 2, 3}).is_wrong());
  const Explanation explanation = with_sinks_read_by({0, 0, 1, 1});
  REQUIRE(explanation.is_wrong());
  CHECK(explanation.faults.fitting == std::vector<std::string>{"sinks are read by KV head"});
  CHECK(with_sinks_read_by({3, 2, 1, 0}).faults.fitting.empty());
}

}  // namespace
}  // namespace recto::verify

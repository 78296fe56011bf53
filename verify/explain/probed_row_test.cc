// Limits of the probe: faults that depend on V, occur only sometimes, are too small, or lie far
// into a long context.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "reference/kv_cache_reader.h"
#include "verify/cases/case_spec.h"
#include "verify/explain/explanation.h"
#include "verify/explain/testing/changed_results.h"
#include "verify/qa/canary.h"

namespace recto::verify {
namespace {

using Catch::Matchers::ContainsSubstring;
using reference::AttentionResult;

reference::Matrix values_of(const PagedAttentionInputs& inputs) {
  return reference::gather_head(inputs.kv.v, inputs.block_table.data, inputs.context_length[0], 0);
}

// Whether the inputs are the case's own rather than the probe's.
bool is_own(const PagedAttentionInputs& inputs) { return (values_of(inputs).array() > 1.0).any(); }

LawCase decode(std::int64_t keys) {
  CaseSpec spec;
  spec.shape = {.num_q_heads = 2, .num_kv_heads = 1, .head_dim_k = 4, .head_dim_v = 1};
  spec.sequences = {{.num_rows = 1, .context_length = keys}};
  spec.q = spec.k = spec.v = FloatFamily::kNormal;
  spec.options.scale = 0.5F;
  spec.placement.block_size = 16;
  spec.seed = 3;
  LawCase law_case{make_problem(spec), spec.placement};
  law_case.problem.sequences[0].v[0] = 2.0F;
  return law_case;
}

Diagnosis diagnosed(const Backend& backend, const LawCase& law_case) {
  const Explanation explanation = explain(backend, law_case, BoundKind::kProbabilistic);
  INFO(explanation_text(explanation, law_case));
  REQUIRE(explanation.is_wrong());
  CHECK(explanation.probe);
  return explanation.diagnosis;
}

TEST_CASE("an lse that is wrong only with the case's own V is not blamed on the output") {
  const Backend wrong = changing([](const PagedAttentionInputs& inputs, AttentionResult& result) {
    if (is_own(inputs)) result.lse_ln_at(0, 0) += 1.0;
  });
  const Diagnosis diagnosis = diagnosed(wrong, decode(9));
  CHECK(diagnosis.step == Step::kUnknown);
  CHECK_THAT(diagnosis.why,
             ContainsSubstring(" with V of ones and zeros, although V does not enter it"));
}

TEST_CASE("an lse that differs between probes is not blamed on a step") {
  const auto calls = std::make_shared<int>(0);
  const Backend wrong = changing([calls](const PagedAttentionInputs&, AttentionResult& result) {
    if (++*calls != 3) result.lse_ln_at(0, 0) += 1.0;
  });
  const Diagnosis diagnosis = diagnosed(wrong, decode(9));
  CHECK(diagnosis.step == Step::kUnknown);
  CHECK_THAT(diagnosis.why, ContainsSubstring(" in one run with V of ones and zeros and "));
}

TEST_CASE("a row that is right in a repeated call is reported as not wrong each time") {
  const auto doubling = [](const std::vector<std::int64_t>& heads_by_call) {
    const auto calls = std::make_shared<std::size_t>(0);
    return changing([=](const PagedAttentionInputs& inputs, AttentionResult& result) {
      if (!is_own(inputs) || *calls >= heads_by_call.size()) return;
      result.out_at(0, heads_by_call[(*calls)++], 0) *= 2.0;
    });
  };
  const Diagnosis once = diagnosed(doubling({0}), decode(9));
  CHECK(once.step == Step::kUnknown);
  CHECK_THAT(once.why, ContainsSubstring("run again is right in this row: it does not fail each"));
  const Diagnosis moved = diagnosed(doubling({0, 1}), decode(9));
  CHECK(moved.step == Step::kUnknown);
  CHECK_THAT(moved.why, ContainsSubstring("right in this row, and wrong in sequence 0, row 0, "
                                          "head 1: it does not fail each time"));
  CHECK(diagnosed(doubling({0, 0}), decode(9)).step == Step::kOutput);
}

TEST_CASE("weights wrong by less than their bounds explain a wrong output without naming a step") {
  const LawCase law_case = decode(200);
  const Backend right = changing([](const PagedAttentionInputs&, AttentionResult&) {});
  const WeightProbe probe = probe_weights(right, law_case, {}, BoundKind::kProbabilistic).value();
  const PlacedProblem placed(law_case.problem, law_case.placement);
  const reference::Matrix own = values_of(placed.inputs());
  const Backend wrong = changing([=](const PagedAttentionInputs& inputs, AttentionResult& result) {
    const reference::Matrix v = values_of(inputs);
    for (std::int64_t key = 0; key < v.rows(); ++key) {
      const double off = 0.9 * probe.bound[key];
      result.out_at(0, 0, 0) += (own(key, 0) > 0.0 ? off : -off) * v(key, 0);
    }
  });
  const Diagnosis diagnosis = diagnosed(wrong, law_case);
  CHECK(diagnosis.step == Step::kUnknown);
  CHECK_THAT(diagnosis.why,
             ContainsSubstring("each weight is off by less than its bound, and together they "
                               "explain the output: too small to identify the step"));
}

TEST_CASE("an output that is not finite beside right weights is reported as such") {
  const auto told = [](double out) {
    const Diagnosis diagnosis =
        diagnosed(changing([out](const PagedAttentionInputs& inputs, AttentionResult& result) {
                    if (is_own(inputs)) result.out_at(0, 1, 0) = out;
                  }),
                  decode(9));
    CHECK(diagnosis.step == Step::kOutput);
    return diagnosis.why;
  };
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  CHECK_THAT(told(kInfinity), ContainsSubstring("the output is infinite in 1 of 1 dims, in dim 0 "
                                                "inf in place of "));
  CHECK_THAT(told(-kInfinity), ContainsSubstring("in dim 0 -inf in place of ") &&
                                   ContainsSubstring("products with V, or their sum, overflow"));
  CHECK_THAT(told(std::numeric_limits<double>::quiet_NaN()),
             ContainsSubstring("a NaN with weight 0"));
}

TEST_CASE("a key far into a long context is named") {
  LawCase law_case = decode(700);
  const Diagnosis diagnosis =
      diagnosed(canary_backend("last key", Fault::kLastKeyDropped), law_case);
  CHECK(diagnosis.step == Step::kScores);
  CHECK(diagnosis.key == 699);
}

TEST_CASE("the departing one of many wrong weights is shown, and the others are counted") {
  const Backend wrong = canary_backend("last key", Fault::kLastKeyDropped);
  const auto told = [&](std::int64_t keys) {
    const LawCase law_case = decode(keys);
    return explanation_text(explain(wrong, law_case, BoundKind::kProbabilistic), law_case);
  };
  const std::string many = told(100);
  INFO(many);
  CHECK_THAT(many, ContainsSubstring("\n      10      0    10 "));
  CHECK_THAT(many, !ContainsSubstring("\n      11      0    11 "));
  CHECK_THAT(many, ContainsSubstring("\n      99      6     3             0 "));
  CHECK_THAT(many, ContainsSubstring("\n  not shown: 88 others whose weights are wrong, too\n"));
  CHECK_THAT(told(13), ContainsSubstring("\n  not shown: 1 other whose weight is wrong, too\n"));
  CHECK_THAT(told(12), !ContainsSubstring("not shown"));
}

enum class OfSumZero : std::uint8_t { kZeros, kDivided };

// fp32 exponentials relative to a running maximum that begins at `begin`, too high if above all
// scores.
Backend beginning_at(double begin, OfSumZero of_zero) {
  return changing([=](const PagedAttentionInputs& inputs, AttentionResult& result) {
    const std::int64_t keys = inputs.context_length[0];
    const auto k = reference::gather_head(inputs.kv.k, inputs.block_table.data, keys, 0);
    const reference::Matrix v = values_of(inputs);
    for (std::int64_t head = 0; head < inputs.q.num_heads; ++head) {
      const reference::Vector scores = k * reference::read_rows(inputs.q, head, 0, 1).transpose() *
                                       static_cast<double>(inputs.options.scale);
      const double maximum = std::max(begin, scores.maxCoeff());
      double sum = 0.0;
      double out = 0.0;
      for (std::int64_t key = 0; key < keys; ++key) {
        const double weight = std::exp(static_cast<float>(scores[key] - maximum));
        sum += weight;
        out += weight * v(key, 0);
      }
      const bool is_divided = sum > 0.0 || of_zero == OfSumZero::kDivided;
      result.out_at(0, head, 0) = is_divided ? out / sum : 0.0;
      result.lse_ln_at(0, head) = maximum + std::log(sum);
    }
  });
}

// All scores are -6000.
LawCase low_scores() {
  LawCase law_case = decode(9);
  std::ranges::fill(law_case.problem.sequences[0].q, 1.0F);
  std::ranges::fill(law_case.problem.sequences[0].k, -3000.0F);
  return law_case;
}

TEST_CASE("a running maximum that starts too high is named if no key has weight") {
  const LawCase low = low_scores();
  CHECK_FALSE(
      explain(beginning_at(-7000.0, OfSumZero::kZeros), low, BoundKind::kProbabilistic).is_wrong());
  for (const OfSumZero of_zero : {OfSumZero::kZeros, OfSumZero::kDivided}) {
    for (const double begin : {-5000.0, 1e-38, 5000.0}) {
      const auto explanation =
          explain(beginning_at(begin, of_zero), low, BoundKind::kProbabilistic);
      const std::string text = explanation_text(explanation, low);
      INFO(text);
      REQUIRE(explanation.is_wrong());
      const bool is_told = begin < 5000.0;  // with q of zeros all scores are 0
      const Step first = of_zero == OfSumZero::kZeros ? Step::kScores : Step::kSum;
      CHECK(explanation.diagnosis.step == (is_told ? Step::kMax : first));
      CHECK_THAT(text, ContainsSubstring("maximum that starts or stays too high"));
      CHECK_THAT(text, !ContainsSubstring("which cancels"));
      CHECK((text.find("with q of zeros") != std::string::npos) == is_told);
    }
  }
}

TEST_CASE("the maximum is a possible cause of a missing weight if no further runs are possible") {
  const LawCase low = low_scores();
  const PlacedProblem placed(low.problem, low.placement);
  const Backend wrong = beginning_at(-5000.0, OfSumZero::kZeros);
  const AttentionResult seen = result_of(wrong.call(placed.inputs()));
  const Comparison comparison = explain(wrong, low, BoundKind::kProbabilistic).comparison;
  const std::string text =
      explanation_text(explain_results(seen, comparison, low, BoundKind::kProbabilistic), low);
  INFO(text);
  CHECK_THAT(text, ContainsSubstring("lse_ln is -inf in place of -5997.8"));
  CHECK_THAT(text, ContainsSubstring("maximum that starts or stays too high"));
  CHECK_THAT(text, !ContainsSubstring("which cancels"));
}

TEST_CASE("unvisited keys are not blamed on the maximum, whatever their scores") {
  const LawCase low = low_scores();
  const Backend blind = changing([](const PagedAttentionInputs&, AttentionResult& result) {
    std::ranges::fill(result.out, 0.0);
    std::ranges::fill(result.lse_ln, -std::numeric_limits<double>::infinity());
  });
  CHECK(diagnosed(blind, low).step == Step::kScores);
}

TEST_CASE("contexts that need too many runs, or too much time, are explained without weights") {
  const Backend wrong = canary_backend("last key", Fault::kLastKeyDropped);
  LawCase law_case = decode(8193);
  const Explanation explanation = explain(wrong, law_case, BoundKind::kProbabilistic);
  CHECK_FALSE(explanation.probe);
  CHECK(explanation.why_no_probe == "it would take 8193 runs, more than 8192");
  CHECK(explanation.diagnosis.step == Step::kUnknown);
  CHECK(std::ranges::count(explanation.faults.fitting,
                           "context lengths without the newest token") == 1);
  law_case = decode(9);
  CHECK(probe_weights(wrong, law_case, {}, BoundKind::kProbabilistic, {.runs = 9}).is_ok());
  CHECK_FALSE(probe_weights(wrong, law_case, {}, BoundKind::kProbabilistic, {.runs = 8}).is_ok());
  CHECK(probe_weights(wrong, law_case, {}, BoundKind::kProbabilistic, {.seconds = 0.0})
            .status()
            .message() == "after 0 s not all of 9 runs were made");
}

TEST_CASE("the oracle of a probed row equals that of the whole call") {
  for (const bool causal : {true, false}) {
    CaseSpec spec;
    spec.shape = {.num_q_heads = 4, .num_kv_heads = 2, .head_dim_k = 3, .head_dim_v = 4};
    spec.sequences = {{.num_rows = 2, .context_length = 5, .id = 0},
                      {.num_rows = 4, .context_length = 11, .id = 1}};
    spec.q = spec.k = spec.v = FloatFamily::kNormal;
    spec.options = {.causal = causal, .window = 6, .alibi = AlibiFamily::kUsual};
    spec.placement.block_size = 4;
    const LawCase law_case{make_problem(spec), spec.placement};
    for (std::int64_t row = 0; row < 4; ++row) {
      const HeadRow place{.sequence = 1, .row = row, .head = 3};
      const Backend right = canary_backend("right", Fault::kNone);
      const WeightProbe probe =
          probe_weights(right, law_case, place, BoundKind::kWorstCase).value();
      INFO(causal << " " << row);
      for (std::int64_t key = 0; key < 11; ++key)
        CHECK(std::abs(probe.seen[key] - probe.expected[key]) <= probe.bound[key]);
      CHECK(std::abs(probe.lse_ln_seen - probe.lse_ln_expected) <= probe.lse_ln_bound);
    }
  }
}

}  // namespace
}  // namespace recto::verify

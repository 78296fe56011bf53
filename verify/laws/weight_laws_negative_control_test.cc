// Negative controls for the laws of softmax and of merging: each law fails a faulty backend, and
// passes the correct ones on the same case.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "bazel/testing/catch.h"
#include "reference/online_softmax.h"
#include "verify/laws/laws.h"
#include "verify/laws/testing/faulty_backends.h"

namespace recto::verify {
namespace {

using reference::AttentionResult;
using reference::SoftmaxState;

TEST_CASE("weights that sum to less than 1 are caught") {
  expect_caught(ones_give_one_law(), small_case(), misreporting([](AttentionResult& result) {
                  for (double& out : result.out) out *= 1 - 0x1p-20;
                }));
}

TEST_CASE("a sink that is in lse, but not in out, is caught") {
  expect_caught(ones_give_one_law(), with_sinks(small_case()),
                wrong([](PagedAttentionInputs inputs) {
                  AttentionResult result = reference::paged_attention(inputs);
                  inputs.options.sinks = {};
                  result.out = reference::paged_attention(inputs).out;
                  return result;
                }));
}

TEST_CASE("an output beyond all values is caught") {
  expect_caught(convex_hull_law(), small_case(), misreporting([](AttentionResult& result) {
                  for (double& out : result.out) out += 1.5;
                }));
}

TEST_CASE("dims that do not share their weights are caught") {
  LawCase equal_dims = small_case();
  for (SequenceProblem& sequence : equal_dims.problem.sequences)
    for (std::size_t i = 1; i < sequence.v.size(); ++i)
      if (i % 4 != 0) sequence.v[i] = sequence.v[i - 1];
  expect_caught(convex_hull_law(), equal_dims, wrong([](PagedAttentionInputs inputs) {
                  AttentionResult result = reference::paged_attention(inputs);
                  inputs.options.scale *= 1.5F;
                  const AttentionResult other = reference::paged_attention(inputs);
                  for (std::size_t i = 0; i < result.out.size(); i += 2)
                    result.out[i] = other.out[i];
                  return result;
                }));
}

TEST_CASE("a bias by position that was not requested is caught") {
  const std::vector<float> slopes = {0.01F, 0.01F, 0.01F, 0.01F};
  expect_caught(key_permutation_law(), small_case(), mishearing([&](PagedAttentionInputs& inputs) {
                  inputs.options.alibi_slopes = slopes;
                }));
}

TEST_CASE("a bias of the wrong sign is caught") {
  expect_caught(alibi_as_scores_law(), small_case(), wrong([](PagedAttentionInputs inputs) {
                  std::vector<float> slopes(inputs.options.alibi_slopes.begin(),
                                            inputs.options.alibi_slopes.end());
                  for (float& slope : slopes) slope = -slope;
                  inputs.options.alibi_slopes = slopes;
                  return reference::paged_attention(inputs);
                }));
}

TEST_CASE("slopes taken to be positive are caught") {
  expect_caught(alibi_as_scores_law(), small_case(), wrong([](PagedAttentionInputs inputs) {
                  std::vector<float> slopes(inputs.options.alibi_slopes.begin(),
                                            inputs.options.alibi_slopes.end());
                  for (float& slope : slopes) slope = std::abs(slope);
                  inputs.options.alibi_slopes = slopes;
                  return reference::paged_attention(inputs);
                }));
}

TEST_CASE("lse in base 2 is caught") {
  const Backend base_two = misreporting([](AttentionResult& result) {
    for (double& lse_ln : result.lse_ln) lse_ln /= std::log(2.0);
  });
  expect_caught(logit_shift_law(), small_case(), base_two);
  expect_caught(key_duplication_law(), small_case(), base_two);
}

TEST_CASE("exponentials without the maximum subtracted are caught") {
  expect_caught(logit_shift_law(), small_case(), misreporting([](AttentionResult& result) {
                  for (double& lse_ln : result.lse_ln)
                    lse_ln = std::log(static_cast<double>(static_cast<float>(std::exp(lse_ln))));
                }));
}

TEST_CASE("a sink that is scaled like a score is caught") {
  expect_caught(logit_shift_law(), with_sinks(small_case()), wrong([](PagedAttentionInputs inputs) {
                  std::vector<float> scaled(inputs.options.sinks.begin(),
                                            inputs.options.sinks.end());
                  for (float& sink : scaled) sink *= inputs.options.scale;
                  inputs.options.sinks = scaled;
                  return reference::paged_attention(inputs);
                }));
}

TEST_CASE("a lost last key is caught") {
  expect_caught(
      key_duplication_law(), with_sinks(small_case()),
      with_contexts([](std::int32_t length, std::int64_t) { return std::max(0, length - 1); }));
}

TEST_CASE("windows of any size up to the largest integer catch a lost key") {
  constexpr std::int64_t kLongest = 21;
  constexpr std::int64_t kHalf = std::int64_t{1} << 62;  // twice that exceeds int64
  for (const std::int64_t window : {std::int64_t{4}, kLongest - 1, kLongest, kHalf - 1, kHalf,
                                    std::numeric_limits<std::int64_t>::max()}) {
    INFO(window);
    LawCase law_case = small_case();
    law_case.problem.options.window = window;
    expect_caught(
        key_duplication_law(), law_case,
        with_contexts([](std::int32_t length, std::int64_t) { return std::max(0, length - 1); }));
  }
}

Backend merging(
    const std::function<SoftmaxState(const SoftmaxState&, const SoftmaxState&)>& merge) {
  Backend backend = backend_of("online-fp64");
  backend.state_merge = StateMerge{.merge = merge, .type = StateType::kFp64};
  return backend;
}

// Merge laws do not apply to a backend that exposes no merge.
void expect_merge_caught(const Law& law, const Backend& faulty) {
  INFO(law.name);
  const LawCase law_case = small_case();
  CHECK(law.check(backend_of("naive-fp64"), law_case, BoundKind::kWorstCase).skipped);
  const LawVerdict right = law.check(backend_of("online-fp64"), law_case, BoundKind::kWorstCase);
  INFO(right.comparison.text());
  CHECK_FALSE(right.skipped);
  CHECK_FALSE(right.failed());
  CHECK_FALSE(law.check(faulty, law_case, BoundKind::kWorstCase).comparison.passed());
}

TEST_CASE("a merge that takes exp(-inf - (-inf)) is caught") {
  expect_merge_caught(merge_identity_law(),
                      merging([](const SoftmaxState& a, const SoftmaxState& b) {
                        SoftmaxState merged = reference::merge(a, b);
                        merged.sum = a.sum * std::exp(a.maximum - merged.maximum) +
                                     b.sum * std::exp(b.maximum - merged.maximum);
                        return merged;
                      }));
}

TEST_CASE("a merge whose sum is contracted to one fused multiply-add is caught") {
  expect_merge_caught(merge_commutativity_law(),
                      merging([](const SoftmaxState& a, const SoftmaxState& b) {
                        SoftmaxState merged = reference::merge(a, b);
                        merged.sum = std::fma(a.sum, std::exp(a.maximum - merged.maximum),
                                              b.sum * std::exp(b.maximum - merged.maximum));
                        return merged;
                      }));
}

TEST_CASE("a merge that keeps the zero of the state it began with is caught") {
  expect_merge_caught(merge_commutativity_law(),
                      merging([](const SoftmaxState& a, const SoftmaxState& b) {
                        SoftmaxState merged = reference::merge(a, b);
                        if (a.maximum == b.maximum) merged.maximum = a.maximum;
                        return merged;
                      }));
}

TEST_CASE("a merge that adds 0 to its result is caught") {
  expect_merge_caught(merge_identity_law(),
                      merging([](const SoftmaxState& a, const SoftmaxState& b) {
                        SoftmaxState merged = reference::merge(a, b);
                        merged.weighted.array() += 0.0;
                        return merged;
                      }));
}

TEST_CASE("a merge that forgets to rescale o is caught") {
  expect_merge_caught(merge_associativity_law(),
                      merging([](const SoftmaxState& a, const SoftmaxState& b) {
                        SoftmaxState merged = reference::merge(a, b);
                        merged.weighted = a.weighted + b.weighted;
                        if (a.maximum < b.maximum) merged.weighted = b.weighted;
                        return merged;
                      }));
}

}  // namespace
}  // namespace recto::verify

#include "verify/decode_step_backend.h"

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "reference/numerics.h"
#include "reference/paged_attention.h"
#include "verify/cases/placed_problem.h"
#include "verify/law.h"

namespace recto::verify {
namespace {

// Contexts that end within a block and at its end, and one of one token; two query heads on one KV
// head.
LawCase decode_case() {
  LawCase law_case;
  law_case.problem.shape = {.num_q_heads = 2, .num_kv_heads = 1, .head_dim_k = 2, .head_dim_v = 3};
  float next = 0.0F;
  const auto numbers = [&next](std::int64_t count) {
    std::vector<float> values;
    for (std::int64_t i = 0; i < count; ++i) values.push_back(std::sin(next += 1.0F));
    return values;
  };
  for (const std::int64_t context : {6, 8, 1}) {
    law_case.problem.sequences.push_back({.num_rows = 1,
                                          .context_length = context,
                                          .q = numbers(2 * 2),
                                          .k = numbers(context * 2),
                                          .v = numbers(context * 3)});
  }
  law_case.placement.block_size = 4;
  return law_case;
}

reference::KernelNumerics numerics(const PagedAttentionInputs& /*inputs*/,
                                   const CallOptions& /*options*/) {
  return reference::fp64_numerics(8);
}

reference::AttentionResult right_step(const DecodeStepInputs& inputs,
                                      const CallOptions& /*options*/) {
  return reference::decode_step(inputs);
}

LawVerdict judged(const LawCase& law_case, const DecodeStepRun& run) {
  return oracle_comparison().check(decode_step_backend("step", run, numerics), law_case,
                                   BoundKind::kWorstCase);
}

TEST_CASE("a right decode step gives the result of attention over the whole cache") {
  const LawVerdict verdict = judged(decode_case(), right_step);
  CHECK_FALSE(verdict.skipped);
  CHECK_FALSE(verdict.failed());
  CHECK(verdict.comparison.elements == 3 * 2 * (3 + 1));
}

TEST_CASE("a step that takes its newest token from the cache, or omits it, is caught") {
  const auto from_cache = [](const DecodeStepInputs& inputs, const CallOptions&) {
    std::vector<std::int32_t> query_start;
    std::vector<std::int32_t> lengths;
    for (std::size_t s = 0; s <= inputs.cached_length.size(); ++s)
      query_start.push_back(static_cast<std::int32_t>(s));
    for (const std::int32_t cached : inputs.cached_length) lengths.push_back(cached + 1);
    return reference::paged_attention({.q = inputs.q,
                                       .kv = inputs.kv,
                                       .block_table = inputs.block_table,
                                       .query_start = query_start,
                                       .context_length = lengths,
                                       .options = inputs.options});
  };
  CHECK(judged(decode_case(), from_cache).comparison.mismatches == 3 * 2 * (3 + 1));
  const auto without_it = [](const DecodeStepInputs& inputs, const CallOptions&) {
    std::vector<std::int32_t> query_start;
    for (std::size_t s = 0; s <= inputs.cached_length.size(); ++s)
      query_start.push_back(static_cast<std::int32_t>(s));
    return reference::paged_attention({.q = inputs.q,
                                       .kv = inputs.kv,
                                       .block_table = inputs.block_table,
                                       .query_start = query_start,
                                       .context_length = inputs.cached_length,
                                       .options = inputs.options});
  };
  CHECK(judged(decode_case(), without_it).comparison.mismatches == 3 * 2 * (3 + 1));
}

TEST_CASE("sequences that share blocks do not lose each other's tokens") {
  LawCase law_case = decode_case();
  std::vector<SequenceProblem>& sequences = law_case.problem.sequences;
  // The first four of 8 tokens are the whole other sequence.
  sequences[0].context_length = 4;
  sequences[0].k.assign(sequences[1].k.begin(), sequences[1].k.begin() + 4 * 2);
  sequences[0].v.assign(sequences[1].v.begin(), sequences[1].v.begin() + 4 * 3);
  law_case.placement.shares_prefixes = true;
  CHECK_FALSE(judged(law_case, right_step).failed());
}

TEST_CASE("a decode step backend says which inputs are not a decode step") {
  const Backend backend = decode_step_backend("step", right_step, numerics);
  const auto why = [&backend](const LawCase& law_case) {
    return backend.why_unsupported(PlacedProblem(law_case.problem, law_case.placement).inputs());
  };
  CHECK(why(decode_case()) == std::nullopt);
  LawCase two_rows = decode_case();
  two_rows.problem.sequences[1].num_rows = 2;
  two_rows.problem.sequences[1].q.resize(2 * 2 * 2);
  CHECK(why(two_rows) == "not exactly one query row per sequence");
  LawCase empty = decode_case();
  empty.problem.sequences[2] = {
      .num_rows = 1, .context_length = 0, .q = {1, 1, 1, 1}, .k = {}, .v = {}};
  CHECK(why(empty) == "a sequence without a newest token");
  LawCase scaled = decode_case();
  scaled.problem.v_scales = {0.5F};
  CHECK(why(scaled) == "a cache with scales");
}

}  // namespace
}  // namespace recto::verify

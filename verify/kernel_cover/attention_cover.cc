#include "verify/kernel_cover/attention_cover.h"

#include <fmt/format.h>

#include <cstddef>
#include <iterator>
#include <span>
#include <string>

#include "core/random_stream.h"
#include "verify/generators/case_generator.h"
#include "verify/kernel_calls.h"
#include "verify/kernel_cover/taint.h"

namespace recto::verify {
namespace {

CaseDomain decode_domain() {
  CaseDomain domain;
  domain.rows = {RowsKind::kDecode};
  domain.head_dims = {1, 3, 8, 20, 64, 80, 128};
  domain.groups = {1, 2, 4};
  domain.num_seqs_max = 3;
  domain.num_kv_heads_max = 2;
  domain.context_max = 150;
  return domain;
}

CaseDomain group_domain(std::uint64_t number) {
  using enum ElementType;
  // Tensor cores' own types twice, which alone have scores.
  static constexpr TypePair kTypes[] = {{kFp16, kFp16}, {kBf16, kBf16}, {kFp32, kFp32},
                                        {kFp16, kFp16}, {kBf16, kBf16}, {kFp16, kE4m3},
                                        {kBf16, kE5m2}};
  static constexpr KvLayout kLayouts[] = {KvLayout::kTokenMajor, KvLayout::kHeadMajor,
                                          KvLayout::kPacked};
  CaseDomain domain = decode_domain();
  domain.types = {kTypes[number % std::size(kTypes)]};
  domain.layouts = {kLayouts[number % std::size(kLayouts)]};
  domain.head_dims = {number % 2 == 0 ? 64 : 128};
  domain.value_head_dim = ValueHeadDim::kSameAsKeys;
  domain.groups = {1, 3, 8};
  domain.context_max = 100;
  return domain;
}

CaseDomain domain_of(Covered what, std::uint64_t number) {
  if (what == Covered::kDecode) return decode_domain();
  CaseDomain domain = group_domain(number);
  if (what == Covered::kPrefill) domain.rows = {RowsKind::kChunk, RowsKind::kMixed};
  return domain;
}

Outcome outcome_of(const ScoreResults& results) {
  return {.kernel = "group-scores",
          .bits = fmt::format("{:016x}", bits_of(results.scores)),
          .taint = taint_text("scores", std::as_bytes(std::span(results.scores)), sizeof(float))};
}

}  // namespace

Outcome attention_outcome(const std::string& kernel, const PagedAttentionInputs& inputs,
                          const DecodeResults& results) {
  Outcome outcome = {
      .kernel = kernel,
      .bits = fmt::format("out {:016x} lse {:016x}", bits_of(results.out), bits_of(results.lse_ln)),
      .taint = taint_text("out", results.out, element_bytes(inputs.q.type))};
  if (outcome.taint.empty()) {
    outcome.taint = taint_text("lse_ln", std::as_bytes(std::span(results.lse_ln)), sizeof(float));
  }
  return outcome;
}

CaseSpec covered_case(Covered what, std::uint64_t number) {
  constexpr std::uint64_t kSeed = 2026;
  constexpr const char* kNames[] = {"cover", "group cover", "prefill cover"};
  const RandomStream streams = RandomStream(kSeed).split(kNames[static_cast<int>(what)]);
  RandomStream stream = streams.split(number);
  return draw_case(stream, domain_of(what, number));
}

std::vector<Outcome> attention_outcomes(simt::Executor& executor,
                                        const PagedAttentionInputs& inputs) {
  constexpr std::int64_t kSplitSize = 40;
  std::vector<Outcome> outcomes;
  const auto add = [&](const char* kernel, const auto& call) {
    DecodeResults results(inputs);
    call(results);
    outcomes.push_back(attention_outcome(kernel, inputs, results));
  };
  if (!why_not_decoded(inputs)) {
    add("paged-decode", [&](auto& results) { call_paged_decode(executor, {}, inputs, results); });
    add("split-decode",
        [&](auto& results) { call_split_decode(executor, {}, inputs, kSplitSize, results); });
  }
  if (!why_not_scored(inputs)) {
    ScoreResults scores(inputs);
    call_group_scores(executor, {}, kernels::launch_group_scores, inputs, scores);
    outcomes.push_back(outcome_of(scores));
  }
  if (!why_not_group_decoded(inputs)) {
    add("group-decode",
        [&](auto& results) { call_group_decode(executor, {}, inputs, kSplitSize, results); });
  }
  if (!why_not_prefilled(inputs)) {
    add("paged-prefill", [&](auto& results) { call_paged_prefill(executor, {}, inputs, results); });
  }
  return outcomes;
}

}  // namespace recto::verify

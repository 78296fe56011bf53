#include "verify/kernels/kernel_cover/attention_cover.h"

#include <fmt/format.h>

#include <cstddef>
#include <iterator>
#include <span>
#include <string>

#include "core/contract.h"
#include "core/random_stream.h"
#include "verify/cases/case_generator.h"
#include "verify/kernels/contents_call.h"
#include "verify/kernels/kernel_calls.h"
#include "verify/kernels/kernel_cover/taint.h"

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
  // Lists the types of tensor cores twice, since only those have scores.
  static constexpr TypePair kTypes[] = {{kFp16, kFp16}, {kBf16, kBf16}, {kFp32, kFp32},
                                        {kFp16, kFp16}, {kBf16, kBf16}, {kFp16, kE4m3},
                                        {kBf16, kE5m2}};
  static constexpr KvLayout kLayouts[] = {KvLayout::kTokenMajor, KvLayout::kHeadMajor,
                                          KvLayout::kPacked};
  CaseDomain domain = decode_domain();
  domain.types = {kTypes[number % std::size(kTypes)]};
  domain.layouts = {kLayouts[number % std::size(kLayouts)]};
  static constexpr std::int64_t kHeadDims[] = {64, 128, 192, 64, 256};
  domain.head_dims = {kHeadDims[number % std::size(kHeadDims)]};
  domain.value_head_dim = ValueHeadDim::kSameAsKeys;
  domain.groups = {1, 3, 8, 17};
  domain.context_max = 100;
  return domain;
}

// Blocks of few slots, and larger than tiles.
CaseDomain block_domain(std::uint64_t number) {
  CaseDomain domain = group_domain(number);
  const ElementType type = number / 2 % 2 == 0 ? ElementType::kFp16 : ElementType::kBf16;
  domain.types = {{type, type}};
  domain.head_dims = {number % 2 == 0 ? 64 : 128};
  domain.layouts = {KvLayout::kHeadMajor};
  domain.block_sizes = {1, 2, 8, 16, 48, 128};
  return domain;
}

CaseDomain domain_of(Covered what, std::uint64_t number) {
  if (what == Covered::kDecode) return decode_domain();
  if (what == Covered::kBlocks) return block_domain(number);
  CaseDomain domain = group_domain(number);
  if (what == Covered::kPrefill) domain.rows = {RowsKind::kChunk, RowsKind::kMixed};
  return domain;
}

Outcome outcome_of(const ScoreResults& results) {
  return {.kernel = "group-scores",
          .bits = fmt::format("{:016x}", bits_of(results.scores)),
          .taint = taint_text("scores", std::as_bytes(std::span(results.scores)), sizeof(float))};
}

Outcome outcome_of(std::string_view kernel, const PagedAttentionInputs& inputs,
                   const DecodeResults& results) {
  Outcome outcome = {
      .kernel = std::string(kernel),
      .bits = fmt::format("out {:016x} lse {:016x}", bits_of(results.out), bits_of(results.lse_ln)),
      .taint = taint_text("out", results.out, element_bytes(inputs.q.type))};
  if (outcome.taint.empty()) {
    outcome.taint = taint_text("lse_ln", std::as_bytes(std::span(results.lse_ln)), sizeof(float));
  }
  return outcome;
}

std::optional<std::string> why_not(std::string_view kernel, const PagedAttentionInputs& inputs) {
  if (kernel == "group-scores") return why_not_scored(inputs);
  if (kernel == "gqa-decode") return why_not_gqa_decoded(inputs);
  if (kernel == "tma-decode") return why_not_tma_decoded(inputs);
  if (kernel == "paged-prefill") return why_not_prefilled(inputs);
  return why_not_decoded(inputs);
}

void call(std::string_view kernel, simt::Executor& executor, const PagedAttentionInputs& inputs,
          DecodeResults& results) {
  constexpr std::int64_t kSplitSize = 40;
  if (kernel == "reference-decode") {
    call_reference_decode(executor, {}, inputs, results);
  } else if (kernel == "split-decode") {
    call_split_decode(executor, {}, inputs, kSplitSize, results);
  } else if (kernel == "gqa-decode") {
    call_gqa_decode(executor, {}, inputs, kSplitSize, results);
  } else if (kernel == "tma-decode") {
    call_tma_decode(executor, {}, inputs, kSplitSize, results);
  } else {
    RECTO_CHECK_EQ(kernel, "paged-prefill");
    call_paged_prefill(executor, {}, inputs, results);
  }
}

Outcome contents_outcome(simt::Executor& executor, const PagedAttentionInputs& inputs) {
  const kernels::ContentsCheckParams right = contents_params(inputs);
  std::vector<kernels::ContentsCheckParams> all(4, right);
  all[1].num_blocks /= 2;
  --all[2].max_context_length;
  ++all[3].num_query_rows;
  std::vector<std::int64_t> found;
  for (const kernels::ContentsCheckParams& params : all) {
    for (const std::int64_t field : fields_of(call_contents_check(executor, {}, params))) {
      found.push_back(field);
    }
  }
  return {.kernel = "contents-check",
          .bits = fmt::format("{:016x}", bits_of(found)),
          .taint = taint_text("violation", std::as_bytes(std::span(found)), sizeof found[0])};
}

}  // namespace

CaseSpec covered_case(Covered what, std::uint64_t number) {
  constexpr std::uint64_t kSeed = 2026;
  constexpr const char* kNames[] = {"cover", "group cover", "prefill cover", "block cover"};
  const RandomStream streams = RandomStream(kSeed).split(kNames[static_cast<int>(what)]);
  RandomStream stream = streams.split(number);
  return draw_case(stream, domain_of(what, number));
}

std::optional<Outcome> attention_outcome(std::string_view kernel, simt::Executor& executor,
                                         const PagedAttentionInputs& inputs) {
  if (why_not(kernel, inputs)) return std::nullopt;
  if (kernel == "group-scores") {
    ScoreResults scores(inputs);
    call_group_scores(executor, {}, kernels::launch_group_scores, inputs, scores);
    return outcome_of(scores);
  }
  DecodeResults results(inputs);
  call(kernel, executor, inputs, results);
  return outcome_of(kernel, inputs, results);
}

std::vector<Outcome> attention_outcomes(simt::Executor& executor,
                                        const PagedAttentionInputs& inputs) {
  std::vector<Outcome> outcomes;
  for (const std::string_view kernel : kAttentionKernels) {
    if (auto outcome = attention_outcome(kernel, executor, inputs)) outcomes.push_back(*outcome);
  }
  outcomes.push_back(contents_outcome(executor, inputs));
  return outcomes;
}

}  // namespace recto::verify

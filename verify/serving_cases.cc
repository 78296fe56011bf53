#include "verify/serving_cases.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "core/random_stream.h"
#include "verify/cases/far_scores.h"

namespace recto::verify {
namespace {

void keep_fp8(std::vector<TypePair>& types) {
  const auto is_wider = [](const TypePair& pair) { return !is_fp8(pair.kv); };
  if (!std::ranges::all_of(types, is_wider)) std::erase_if(types, is_wider);
}

CaseDomain domain_for_every_key(const ServingKind& kind) {
  CaseDomain domain = kind.cases.domain;
  domain.families = {FloatFamily::kUniform, FloatFamily::kNormal};
  domain.has_far_scores = false;
  domain.has_window = false;
  domain.has_alibi = false;
  if (kind.trait == ServingTrait::kHeadScales && domain.has_scales) keep_fp8(domain.types);
  return domain;
}

float usual_scale(const CaseSpec& spec) {
  return static_cast<float>(1.0 / std::sqrt(static_cast<double>(spec.shape.head_dim_k)));
}

bool has_ordinary_scores(const CaseSpec& spec) {
  return std::abs(spec.options.scale) <= 2.01F * usual_scale(spec);
}

CaseSpec draw_spec(const ServingKind& kind, std::uint64_t number, ServingValues values) {
  const DrawnCases& cases = kind.cases;
  if (values == ServingValues::kAny) return drawn_spec(cases, number);
  constexpr int kAttempts = 64;
  const CaseDomain domain = domain_for_every_key(kind);
  RandomStream stream = RandomStream(cases.seed).split(cases.name).split(number);
  CaseSpec spec = draw_case(stream, domain);
  for (int attempt = 1; attempt < kAttempts && !has_ordinary_scores(spec); ++attempt)
    spec = draw_case(stream, domain);
  // With a smaller weight, a sink that is omitted or counted twice might go unnoticed among many
  // keys.
  if (spec.options.sinks != SinkFamily::kNone) spec.options.sinks = SinkFamily::kComparable;
  return spec;
}

// In groups of four, counted from the last sequence, which keeps its rows.
void empty_every_second(std::vector<SequenceSpec>& sequences) {
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    const std::size_t place = (sequences.size() - 1 - i) % 4;
    if (place == 1 || place == 2) sequences[i].num_rows = 0;
    if (place == 2) sequences[i].context_length = 0;
  }
}

// Gives the first sequence the rows that the kind asks for and moves it to the end, so that its
// rows start behind those of other sequences.
void place_rows(ServedRows rows, std::vector<SequenceSpec>& sequences) {
  if (rows == ServedRows::kOne) return;
  if (rows == ServedRows::kChunksAndDecodes) {
    for (std::size_t i = 1; i < sequences.size(); i += 2)
      sequences[i].num_rows = std::min<std::int64_t>(1, sequences[i].num_rows);
  }
  std::swap(sequences.front(), sequences.back());
}

void set_window(CaseSpec& spec) {
  constexpr std::int64_t kEdge = 16;  // blocks and splits begin at multiples of it
  const std::int64_t context = spec.longest_context();
  const auto choices = static_cast<std::uint64_t>(std::max<std::int64_t>(1, context / 4));
  std::int64_t window = 1 + context / 16 + static_cast<std::int64_t>(spec.seed % choices);
  if ((context - window) % kEdge == 0) ++window;
  spec.options.window = window;
}

}  // namespace

CaseSpec serving_spec(const ServingKind& kind, std::uint64_t number, ServingValues values) {
  CaseSpec spec = draw_spec(kind, number, values);
  place_rows(kind.rows, spec.sequences);
  const CaseDomain& domain = kind.cases.domain;
  if (kind.rows == ServedRows::kChunksAndEmpty && domain.has_empty)
    empty_every_second(spec.sequences);
  if (kind.trait == ServingTrait::kWindow && domain.has_window) set_window(spec);
  if (values == ServingValues::kAny) return spec;
  if (kind.trait == ServingTrait::kNegativeScale && domain.has_negative_scale)
    spec.options.scale = -1.5F * usual_scale(spec);
  if (kind.trait == ServingTrait::kLowScores && domain.has_negative_scale)
    move_scores_far(-kScoreLimit, spec);
  if (kind.trait == ServingTrait::kPeakedEnds && domain.scale_values == ScaleValues::kAny)
    peak_ends(spec);
  const bool has_scales = domain.has_scales && domain.has_scales_of_heads;
  if (kind.trait == ServingTrait::kHeadScales && has_scales && is_fp8(spec.shape.kv_type))
    spec.options.k_scales = spec.options.v_scales = ScaleKind::kPerKvHead;
  // Sequences that share all of their keys could be mistaken for each other without effect.
  spec.shared_prefix = std::min(spec.shared_prefix, spec.longest_context() / 4);
  return spec;
}

CaseSpec with_longest_last(CaseSpec spec) {
  const auto longest = std::ranges::max_element(spec.sequences, {}, &SequenceSpec::context_length);
  if (longest != spec.sequences.end()) std::swap(*longest, spec.sequences.back());
  spec.placement.table_padding = std::max<std::int64_t>(1, spec.placement.table_padding);
  return spec;
}

CaseSpec smaller_case_of_same_kind(CaseSpec spec) {
  constexpr std::size_t kSequences = 2;
  constexpr std::int64_t kContext = 9;
  constexpr std::int64_t kRows = 3;
  // Keeps the last ones, among them the one with many rows, if there is one.
  if (spec.sequences.size() > kSequences)
    spec.sequences.erase(spec.sequences.begin(), spec.sequences.end() - kSequences);
  for (SequenceSpec& sequence : spec.sequences) {
    sequence.context_length = std::min(kContext, sequence.context_length);
    sequence.num_rows = std::min(kRows, sequence.num_rows);
  }
  spec.shared_prefix = std::min(spec.shared_prefix, spec.longest_context());
  return spec;
}

}  // namespace recto::verify

// Keys that a row does not see, after its causal cut or before its window, do not affect its bits,
// whatever they hold. (A weight of 0 times NaN or infinity would be NaN.) So a NaN or infinity of
// one token reaches exactly the rows that see the token.

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

#include "verify/laws/law_trial.h"
#include "verify/laws/laws.h"
#include "verify/laws/problem_geometry.h"

namespace recto::verify {
namespace {

// Which row of each sequence does not see the spoilt keys.
enum class SparedRow { kFirst, kMiddle, kLast };

std::int64_t row_number(SparedRow row, std::int64_t num_rows) {
  const std::int64_t rows[] = {0, num_rows / 2, num_rows - 1};
  return rows[static_cast<int>(row)];
}

const char* name_of(SparedRow row) {
  constexpr const char* kNames[] = {"first", "middle", "last"};
  return kNames[static_cast<int>(row)];
}

bool masks_any(const AttentionProblem& problem) {
  for (const RowPlace& at : all_rows(problem)) {
    const SequenceProblem& sequence = problem.sequences[static_cast<std::size_t>(at.sequence)];
    if (keys_seen(problem.options, sequence, at.row).size() < sequence.context_length) return true;
  }
  return false;
}

// Adds a window of half the longest context if all rows see all keys.
LawCase with_mask(LawCase law_case) {
  if (!masks_any(law_case.problem))
    law_case.problem.options.window =
        std::max<std::int64_t>(1, longest_context(law_case.problem) / 2);
  return law_case;
}

// Names the added window, which the printed case lacks, so that a user can reproduce it by hand.
std::string mask_text(const LawCase& law_case, const LawCase& masked) {
  if (law_case.problem.options.window == masked.problem.options.window) return "";
  return fmt::format("with a window of {}, which the law adds to this case, ",
                     *masked.problem.options.window);
}

// Sets the keys or values that the spared row of each sequence does not see to `value`.
LawCase spoilt(LawCase law_case, SparedRow spared, std::vector<float> SequenceProblem::*tensor,
               float value) {
  AttentionProblem& problem = law_case.problem;
  const bool keys = tensor == &SequenceProblem::k;
  const std::int64_t width =
      problem.shape.num_kv_heads * (keys ? problem.shape.head_dim_k : problem.shape.head_dim_v);
  for (SequenceProblem& sequence : problem.sequences) {
    if (sequence.num_rows == 0) continue;
    const KeysSeen seen =
        keys_seen(problem.options, sequence, row_number(spared, sequence.num_rows));
    std::vector<float>& values = sequence.*tensor;
    std::fill(values.begin(), values.begin() + seen.begin * width, value);
    std::fill(values.begin() + seen.end * width, values.end(), value);
  }
  return law_case;
}

// Compares the rows that see no more keys than the spared row of their sequence.
Comparison compare_spared(const AttentionProblem& problem, SparedRow spared, const LawSide& side,
                          const LawSide& base) {
  ElementComparer comparer(side.inputs());
  for (const RowPlace& at : all_rows(problem)) {
    const SequenceProblem& sequence = problem.sequences[static_cast<std::size_t>(at.sequence)];
    const KeysSeen sound =
        keys_seen(problem.options, sequence, row_number(spared, sequence.num_rows));
    const KeysSeen seen = keys_seen(problem.options, sequence, at.row);
    if (seen.size() > 0 && (seen.begin < sound.begin || seen.end > sound.end)) continue;
    for (std::int64_t h = 0; h < problem.shape.num_q_heads; ++h) {
      ElementPlace place{.sequence = at.sequence, .row = at.row, .head = h};
      for (place.dim = 0; place.dim < problem.shape.head_dim_v; ++place.dim)
        comparer.expect_same_bits(place, side.seen.out_at(at.result_row, h, place.dim),
                                  base.seen.out_at(at.result_row, h, place.dim));
      if (side.seen.lse_ln.empty() || base.seen.lse_ln.empty()) continue;
      place.dim = 0;
      place.tensor = ComparedTensor::kLseLn;
      comparer.expect_same_bits(place, side.seen.lse_ln_at(at.result_row, h),
                                base.seen.lse_ln_at(at.result_row, h));
    }
  }
  return comparer.comparison();
}

std::optional<std::string> why_not_applicable(const LawCase& law_case) {
  if (!masks_any(with_mask(law_case).problem)) return "no row could see fewer than all keys";
  return std::nullopt;
}

std::int64_t most_rows(const AttentionProblem& problem) {
  std::int64_t most = 0;
  for (const SequenceProblem& sequence : problem.sequences)
    most = std::max(most, sequence.num_rows);
  return most;
}

// For V, only finite values if the backend multiplies masked values by 0: the largest that every
// type holds.
std::vector<float> spoiling_values(const Backend& backend, const PagedAttentionInputs& inputs,
                                   std::vector<float> SequenceProblem::*tensor) {
  const bool is_weighed =
      tensor == &SequenceProblem::v && backend.capabilities.masked_value == MaskedValue::kTimesZero;
  if (is_weighed) return {448.0F, -448.0F};
  std::vector<float> values = {std::numeric_limits<float>::quiet_NaN()};
  if (inputs.kv.k.type != ElementType::kE4m3)  // which has no infinity
    values.push_back(std::numeric_limits<float>::infinity());
  return values;
}

LawVerdict check(const Backend& backend, const LawCase& law_case, BoundKind bound_kind) {
  const LawCase masked = with_mask(law_case);
  LawTrial trial(backend, bound_kind);
  const std::optional<LawSide> base = trial.run(masked);
  if (!base) return trial.verdict();
  std::vector<SparedRow> spared_rows = {SparedRow::kLast};
  if (most_rows(masked.problem) > 1)
    spared_rows = {SparedRow::kFirst, SparedRow::kMiddle, SparedRow::kLast};
  for (const SparedRow spared : spared_rows) {
    for (const auto tensor : {&SequenceProblem::k, &SequenceProblem::v}) {
      for (const float value : spoiling_values(backend, base->inputs(), tensor)) {
        const std::string what =
            fmt::format("{}{} in {} that the {} row does not see", mask_text(law_case, masked),
                        value, tensor == &SequenceProblem::k ? "keys" : "values", name_of(spared));
        const std::optional<LawSide> side = trial.run(spoilt(masked, spared, tensor, value), what);
        if (!side) continue;
        trial.record(what, compare_spared(masked.problem, spared, *side, *base));
      }
    }
  }
  return trial.verdict();
}

}  // namespace

Law masked_keys_law() {
  return {.name = "masked_keys",
          .statement = "keys and values that a row does not see never matter to it, bit for bit",
          .why_not_applicable = why_not_applicable,
          .check = check};
}

}  // namespace recto::verify

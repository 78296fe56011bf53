// Previous memory contents do not matter: neither what other sequences left in slots, gaps and the
// block table, nor what other calls left in outputs, workspaces and the backend's own memory.

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "verify/laws/law_trial.h"
#include "verify/laws/laws.h"

namespace recto::verify {
namespace {

constexpr std::uint64_t kHistories = 3;

// Used instead of the usual NaN: with these, memory that was never written, or only accumulated
// into, looks like a valid number.
struct StaleMemory {
  const char* what;
  std::uint32_t pattern;
};
constexpr StaleMemory kStale[] = {{"zeros in results and workspaces", 0},
                                  {"ones of 16 bits in results and workspaces", 0x3c003c00U},
                                  {"infinities in results and workspaces", 0x7f800000U},
                                  {"large numbers in results and workspaces", 0x7149f2caU}};

// Fills slots, row padding and spare blocks with numbers that could be another sequence's, and the
// block table with such ids.
LawCase after_others(LawCase law_case, std::uint64_t seed) {
  Placement& placement = law_case.placement;
  placement.poison = Poison::kGarbage;
  placement.poisoned = PoisonedTensors::kBoth;
  placement.garbage_beyond_table = true;
  placement.table_padding = std::max<std::int64_t>(4, placement.table_padding);
  placement.spare_blocks = std::max<std::int64_t>(2, placement.spare_blocks);
  placement.seed += seed;
  return law_case;
}

bool can_have(const SequenceProblem& sequence, std::int64_t context_length) {
  return context_length == 0 || context_length >= sequence.num_rows;
}

void swap_contexts(SequenceProblem& a, SequenceProblem& b) {
  if (!can_have(a, b.context_length) || !can_have(b, a.context_length)) return;
  std::swap(a.context_length, b.context_length);
  std::swap(a.k, b.k);
  std::swap(a.v, b.v);
}

void halve_context(SequenceProblem& sequence) {
  const std::int64_t length = std::max(sequence.num_rows, sequence.context_length / 2);
  if (length >= sequence.context_length) return;
  sequence.k.resize(sequence.k.size() / static_cast<std::size_t>(sequence.context_length) *
                    static_cast<std::size_t>(length));
  sequence.v.resize(sequence.v.size() / static_cast<std::size_t>(sequence.context_length) *
                    static_cast<std::size_t>(length));
  sequence.context_length = length;
}

// Each sequence gets the context of the next one. The total and the longest length stay the same,
// so a plan made for the sizes of a call seems to fit. If that changes no length, all contexts but
// the first are halved.
void change_contexts(std::vector<SequenceProblem>& sequences) {
  const auto is_as_long = [](const SequenceProblem& a, const SequenceProblem& b) {
    return a.context_length == b.context_length;
  };
  const std::vector<SequenceProblem> before = sequences;
  for (std::size_t s = 0; s + 1 < sequences.size(); ++s)
    swap_contexts(sequences[s], sequences[s + 1]);
  if (!std::ranges::equal(before, sequences, is_as_long)) return;
  for (std::size_t s = sequences.size() > 1 ? 1 : 0; s < sequences.size(); ++s)
    halve_context(sequences[s]);
}

// Changes every option that is set, within its range.
void change_options(AttentionProblem& problem) {
  OwnedAttentionOptions& options = problem.options;
  constexpr float kLess = 0.75F;
  options.scale *= kLess;
  options.softcap *= kLess;
  if (options.window) options.window = *options.window == 1 ? 2 : *options.window - 1;
  for (std::vector<float>* values :
       {&options.alibi_slopes, &options.sinks, &problem.k_scales, &problem.v_scales})
    for (float& value : *values) value *= kLess;
}

// Another call of the same shape, with other lengths, options and block table. It leaves other
// numbers in plans and caches that the backend keeps, in workspaces, and in memory that the next
// call gets.
LawCase other_call(LawCase law_case) {
  change_contexts(law_case.problem.sequences);
  change_options(law_case.problem);
  for (SequenceProblem& sequence : law_case.problem.sequences) {
    for (float& q : sequence.q) q = -q;
    for (float& v : sequence.v) v = 1.0F;
  }
  law_case.placement.poison = Poison::kTenThousand;
  law_case.placement.order = BlockOrder::kDescending;
  return law_case;
}

// The shortest sequence that has keys and rows, if there is one.
SequenceProblem shortest(const std::vector<SequenceProblem>& sequences) {
  return *std::ranges::min_element(sequences, {}, [](const SequenceProblem& sequence) {
    const bool is_empty = sequence.num_rows == 0 || sequence.context_length == 0;
    return std::pair(is_empty, sequence.context_length);
  });
}

// Calls of other shapes, which make the backend rebuild what it keeps for a call's shape. It may
// keep that only for small batches, or only for large ones: one call has a single sequence, and the
// next one more than the case, most of them short.
void run_other_shapes(LawCase law_case, LawTrial& trial) {
  std::vector<SequenceProblem>& sequences = law_case.problem.sequences;
  if (sequences.empty()) return;
  const std::size_t more = sequences.size() + 1;
  const SequenceProblem short_one = shortest(sequences);
  sequences.resize(1);
  trial.run_aside(law_case);
  sequences.resize(more, short_one);
  trial.run_aside(law_case);
}

void compare_on_stale_memory(const Backend& backend, const LawSide& first, LawTrial& trial) {
  if (!backend.capabilities.takes_stale_memory) {
    trial.record_skip("stale results: the backend has memory of its own for them");
    return;
  }
  CallOptions options = first.options;
  for (const auto& [what, pattern] : kStale) {
    options.stale_memory = pattern;
    const auto seen = trial.run_again(first.inputs(), options, what);
    if (seen) trial.record(what, compare_bits(first.inputs(), *seen, first.seen));
  }
}

LawVerdict check(const Backend& backend, const LawCase& law_case, BoundKind bound_kind) {
  LawTrial trial(backend, bound_kind);
  run_other_shapes(law_case, trial);
  const std::optional<LawSide> first = trial.run(law_case);
  if (!first) return trial.verdict();
  const auto compare_with = [&](const std::string& what, const LawCase& changed) {
    if (const std::optional<LawSide> side = trial.run(changed, what))
      trial.record(what, compare_bits(side->inputs(), side->seen, first->seen));
  };
  for (std::uint64_t i = 1; i <= kHistories; ++i)
    compare_with(fmt::format("after other sequences, {}", i), after_others(law_case, i));
  run_other_shapes(law_case, trial);
  trial.run(other_call(law_case), "another call between");
  compare_with("the same call after another", law_case);
  compare_on_stale_memory(backend, *first, trial);
  return trial.verdict();
}

}  // namespace

Law history_law() {
  return {.name = "history",
          .statement =
              "stale contents of slots, gaps, tables and result memory, and earlier calls, never "
              "matter, bit for bit",
          .why_not_applicable = always_applicable,
          .check = check};
}

}  // namespace recto::verify

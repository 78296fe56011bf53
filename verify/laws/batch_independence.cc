// A sequence gives the same result alone, among its neighbours in another order, and among empty
// sequences. The backend's capabilities decide whether bits may differ.

#include <algorithm>
#include <utility>

#include "verify/laws/law_trial.h"
#include "verify/laws/laws.h"

namespace recto::verify {
namespace {

using reference::AttentionResult;

// A batch made of the case's sequences: batch[i] is the index of a sequence, or nothing for an
// empty sequence.
using Batch = std::vector<std::optional<std::size_t>>;

struct BatchVariant {
  const char* what;
  Batch batch;
};

// A slot of a padded batch: one row, as in engines, and no token.
SequenceProblem empty_sequence(const ProblemShape& shape) {
  return {.num_rows = 1,
          .context_length = 0,
          .q = std::vector<float>(static_cast<std::size_t>(shape.num_q_heads * shape.head_dim_k)),
          .k = {},
          .v = {}};
}

LawCase batch_of(LawCase law_case, const Batch& batch) {
  std::vector<SequenceProblem> sequences;
  for (const std::optional<std::size_t>& s : batch) {
    sequences.push_back(s ? law_case.problem.sequences[*s]
                          : empty_sequence(law_case.problem.shape));
  }
  law_case.problem.sequences = std::move(sequences);
  return law_case;
}

// Copies `count` rows of a result, from row `from` on, to row `to` of another. A result without lse
// leaves the other without it.
void move_rows(const AttentionResult& result, std::int64_t from, std::int64_t count,
               AttentionResult& into, std::int64_t to) {
  const std::int64_t outs = result.num_heads * result.head_dim;
  std::copy_n(result.out.begin() + from * outs, count * outs, into.out.begin() + to * outs);
  if (result.lse_ln.empty()) into.lse_ln.clear();
  if (into.lse_ln.empty()) return;
  std::copy_n(result.lse_ln.begin() + from * result.num_heads, count * result.num_heads,
              into.lse_ln.begin() + to * result.num_heads);
}

// The rows of the case's sequences, in the batch's order; rows of empty sequences are copied from
// `rest`.
AttentionResult as_batched(const AttentionProblem& problem, const Batch& batch,
                           const AttentionResult& result, AttentionResult rest) {
  std::vector<std::int64_t> first_row = {0};
  for (const SequenceProblem& sequence : problem.sequences)
    first_row.push_back(first_row.back() + sequence.num_rows);
  std::int64_t row = 0;
  for (const std::optional<std::size_t>& s : batch) {
    const std::int64_t count = s ? problem.sequences[*s].num_rows : 1;
    if (s) move_rows(result, first_row[*s], count, rest, row);
    row += count;
  }
  return rest;
}

std::int64_t most_rows(const AttentionProblem& problem) {
  std::int64_t most = 0;
  for (const SequenceProblem& sequence : problem.sequences)
    most = std::max(most, sequence.num_rows);
  return most;
}

// Where rows are not independent, the largest number of rows of a sequence decides which kernel
// runs.
bool is_bit_for_bit(const Backend& backend, const AttentionProblem& a, const AttentionProblem& b) {
  return backend.capabilities.has_independent_sequences &&
         (backend.capabilities.has_independent_rows || most_rows(a) == most_rows(b));
}

// The reversed batch comes first, directly after the batch: it has the same sizes, but other
// lengths at each place. A plan that a backend keeps for these sizes would be wrong for it.
std::vector<BatchVariant> variants_of(std::size_t num_seqs) {
  std::vector<BatchVariant> variants;
  Batch reversed;
  Batch padded = {std::nullopt};
  for (std::size_t s = 0; s < num_seqs; ++s) {
    reversed.insert(reversed.begin(), s);
    padded.insert(padded.end(), {s, std::nullopt});
  }
  if (num_seqs > 1) variants.push_back({"the batch backwards", reversed});
  for (std::size_t s = 0; s < num_seqs; ++s) variants.push_back({"a sequence alone", {s}});
  variants.push_back({"empty sequences between", padded});
  return variants;
}

LawVerdict check(const Backend& backend, const LawCase& law_case, BoundKind bound_kind) {
  LawTrial trial(backend, bound_kind);
  // A call of other sizes, after which nothing that a backend kept before the law fits the batch.
  if (law_case.problem.sequences.size() > 1)
    trial.run_aside(batch_of(law_case, Batch{std::size_t{0}}));
  const std::optional<LawSide> base = trial.run(law_case);
  if (!base || base->seen.out.empty()) return trial.verdict();
  std::optional<AttentionResult> base_bound;
  for (const auto& [what, batch] : variants_of(law_case.problem.sequences.size())) {
    const LawCase batched = batch_of(law_case, batch);
    const std::optional<LawSide> side = trial.run(batched, what);
    if (!side) continue;
    const AttentionResult expected = as_batched(law_case.problem, batch, base->seen, side->seen);
    if (is_bit_for_bit(backend, law_case.problem, batched.problem)) {
      trial.record(what, compare_bits(side->inputs(), side->seen, expected));
      continue;
    }
    if (!base_bound) base_bound = trial.bound_of(*base);
    const AttentionResult bound = trial.bound_of(*side);
    trial.record(what,
                 compare(side->inputs(), side->seen, expected,
                         sum_of(bound, as_batched(law_case.problem, batch, *base_bound, bound))));
  }
  return trial.verdict();
}

}  // namespace

Law batch_independence_law() {
  return {.name = "batch_independence",
          .statement =
              "a sequence's rows do not depend on the other sequences of the batch: bit for bit "
              "where sequences are independent, else within the bounds",
          .why_not_applicable = always_applicable,
          .check = check};
}

}  // namespace recto::verify

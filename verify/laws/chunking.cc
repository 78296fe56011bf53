// A prompt gives the same result in one call, in chunks, and token by token, as in decoding: a
// causal row sees no later token. A chunk is a sequence whose context ends with the chunk. Each row
// keeps its keys, so no bit changes if rows are independent.

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "verify/laws/law_trial.h"
#include "verify/laws/laws.h"

namespace recto::verify {
namespace {

std::vector<float> head_of(const std::vector<float>& values, std::int64_t rows,
                           std::int64_t width) {
  return {values.begin(), values.begin() + rows * width};
}

// Rows [first, first + count) of a sequence. Rows before the context's start see no key in either
// form: a chunk of only such rows has an empty context.
SequenceProblem chunk_of(const AttentionProblem& problem, const SequenceProblem& sequence,
                         std::int64_t first, std::int64_t count) {
  const ProblemShape& shape = problem.shape;
  const std::int64_t end_position = sequence.context_length - sequence.num_rows + first + count;
  const std::int64_t context = std::max<std::int64_t>(0, end_position);
  const std::int64_t width = shape.num_q_heads * shape.head_dim_k;
  return {.num_rows = count,
          .context_length = context,
          .q = {sequence.q.begin() + first * width, sequence.q.begin() + (first + count) * width},
          .k = head_of(sequence.k, context, shape.num_kv_heads * shape.head_dim_k),
          .v = head_of(sequence.v, context, shape.num_kv_heads * shape.head_dim_v)};
}

LawCase in_chunks(LawCase law_case, std::int64_t chunk_rows) {
  std::vector<SequenceProblem> chunks;
  for (const SequenceProblem& sequence : law_case.problem.sequences) {
    for (std::int64_t first = 0; first < sequence.num_rows; first += chunk_rows)
      chunks.push_back(chunk_of(law_case.problem, sequence, first,
                                std::min(chunk_rows, sequence.num_rows - first)));
  }
  law_case.problem.sequences = std::move(chunks);
  return law_case;
}

std::int64_t most_rows(const AttentionProblem& problem) {
  std::int64_t most = 0;
  for (const SequenceProblem& sequence : problem.sequences)
    most = std::max(most, sequence.num_rows);
  return most;
}

std::optional<std::string> why_not_applicable(const LawCase& law_case) {
  if (!law_case.problem.options.causal) return "not causal: a row sees what comes after it";
  if (most_rows(law_case.problem) < 2) return "one row a sequence, nothing to cut";
  return std::nullopt;
}

LawVerdict check(const Backend& backend, const LawCase& law_case, BoundKind bound_kind) {
  std::vector<Variant> variants;
  for (const std::int64_t rows : std::set<std::int64_t>{1, most_rows(law_case.problem) / 2})
    variants.push_back({fmt::format("each {} rows a sequence", rows), in_chunks(law_case, rows)});
  LawTrial trial(backend, bound_kind);
  if (backend.capabilities.has_independent_rows)
    trial.compare_bit_for_bit(law_case, variants);
  else
    trial.compare_within_bounds(law_case, variants);
  return trial.verdict();
}

}  // namespace

Law chunking_law() {
  return {.name = "chunking",
          .statement =
              "how a prompt is cut into chunks, down to single tokens, does not matter: bit for "
              "bit with "
              "independent rows, else within the bounds",
          .why_not_applicable = why_not_applicable,
          .check = check};
}

}  // namespace recto::verify

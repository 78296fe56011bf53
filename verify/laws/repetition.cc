// The same call gives the same bits however often it is made. Kernels on the executor run with
// another thread schedule each time (../backend_list.h). A case that is too large for a hundred
// runs gets a few, and a short part of the case gets the hundred. If the backend's split size can
// be set, a piece also gets a hundred runs in two splits, so that the merge runs as often.

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "verify/laws/law_trial.h"
#include "verify/laws/laws.h"
#include "verify/laws/problem_geometry.h"

namespace recto::verify {
namespace {

constexpr std::int64_t kRuns = 100;
constexpr std::int64_t kRunsMin = 4;
// Limit on the approximate number of multiplications of all runs, so that no case takes minutes.
constexpr std::int64_t kWorkMax = 1'000'000;
// Size of a short piece: enough keys to cross blocks and tiles of small kernels, and enough rows
// for a tile to have more than one.
constexpr std::int64_t kPieceKeys = 24;
constexpr std::int64_t kPieceRows = 2;

std::int64_t runs_of(const AttentionProblem& problem) {
  const ProblemShape& shape = problem.shape;
  std::int64_t pairs = 1;
  for (const SequenceProblem& sequence : problem.sequences)
    pairs += sequence.num_rows * sequence.context_length;
  const std::int64_t work = pairs * shape.num_q_heads * (shape.head_dim_k + shape.head_dim_v);
  return std::clamp(kWorkMax / work, kRunsMin, kRuns);
}

std::vector<float> last_of(const std::vector<float>& values, std::int64_t count,
                           std::int64_t extent) {
  return {values.end() - count * extent, values.end()};
}

// The last rows of the longest sequence, with the keys just before them.
LawCase short_piece(LawCase law_case) {
  AttentionProblem& problem = law_case.problem;
  const ProblemShape& shape = problem.shape;
  SequenceProblem piece =
      *std::ranges::max_element(problem.sequences, {}, &SequenceProblem::context_length);
  piece.num_rows = std::min(piece.num_rows, kPieceRows);
  piece.context_length = std::min(piece.context_length, kPieceKeys);
  piece.q = last_of(piece.q, piece.num_rows, shape.num_q_heads * shape.head_dim_k);
  piece.k = last_of(piece.k, piece.context_length, shape.num_kv_heads * shape.head_dim_k);
  piece.v = last_of(piece.v, piece.context_length, shape.num_kv_heads * shape.head_dim_v);
  problem.sequences = {std::move(piece)};
  return law_case;
}

// Repeats the call in the same memory.
void repeat(const LawSide& first, std::int64_t runs, const std::string& what, LawTrial& trial) {
  CallOptions options = first.options;
  while (++options.repetition < static_cast<std::uint64_t>(runs)) {
    const auto seen = trial.run_again(first.inputs(), options, what);
    if (!seen) return;
    const Comparison comparison = compare_bits(first.inputs(), *seen, first.seen);
    trial.record(what, comparison);
    if (!comparison.passed()) return;
  }
}

// The piece in two splits, or nothing if that is not possible.
std::optional<LawSide> run_in_two_splits(const Backend& backend, const LawCase& piece,
                                         LawTrial& trial) {
  const std::int64_t keys = longest_context(piece.problem);
  if (!backend.capabilities.takes_split_size || keys < 2) return std::nullopt;
  return trial.run_aside(piece, {.split_size = (keys + 1) / 2});
}

LawVerdict check(const Backend& backend, const LawCase& law_case, BoundKind bound_kind) {
  LawTrial trial(backend, bound_kind);
  const std::optional<LawSide> whole = trial.run(law_case);
  if (!whole) return trial.verdict();
  const std::int64_t runs = runs_of(law_case.problem);
  repeat(*whole, runs, fmt::format("the same call again, {} runs", runs), trial);
  const LawCase piece = short_piece(law_case);
  if (const std::optional<LawSide> side = run_in_two_splits(backend, piece, trial)) {
    repeat(*side, kRuns, fmt::format("a short part of the case in two splits, {} runs", kRuns),
           trial);
  } else if (runs < kRuns) {
    const std::string what = fmt::format("a short part of the case, {} runs", kRuns);
    if (const std::optional<LawSide> side = trial.run(piece, what))
      repeat(*side, kRuns, what, trial);
  }
  return trial.verdict();
}

}  // namespace

Law repetition_law() {
  return {.name = "repetition",
          .statement =
              "the same call gives the same bits in any order of threads: 100 runs, or at least 4 "
              "of a large case and 100 of a part of it",
          .why_not_applicable = always_applicable,
          .check = check};
}

}  // namespace recto::verify

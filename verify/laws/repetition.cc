// The same call gives the same bits, as often as it is made. Kernels that the executor runs take
// another schedule of threads each time (../backend_list.h). What is too large for a hundred runs
// has a few, and a short piece of it has the hundred.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "verify/laws/law_trial.h"
#include "verify/laws/laws.h"

namespace recto::verify {
namespace {

constexpr std::int64_t kRuns = 100;
constexpr std::int64_t kRunsMin = 4;
// Multiplications of all runs together, about: so that no case takes minutes.
constexpr std::int64_t kWorkMax = 1'000'000;
// Of a short piece. As many keys as cross blocks and tiles of small kernels, and rows for more than
// one to be in a tile.
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

// In the same memory.
void run_again(const Backend& backend, const LawSide& first, std::int64_t runs,
               const std::string& what, LawTrial& trial) {
  for (std::int64_t run = 1; run < runs; ++run) {
    const Comparison comparison =
        compare_bits(first.inputs(), backend.run(first.inputs()), first.seen);
    trial.record(what, comparison);
    if (!comparison.passed()) return;
  }
}

LawVerdict check(const Backend& backend, const LawCase& law_case, BoundKind bound_kind) {
  LawTrial trial(backend, bound_kind);
  const std::optional<LawSide> whole = trial.run(law_case);
  if (!whole) return trial.verdict();
  const std::int64_t runs = runs_of(law_case.problem);
  run_again(backend, *whole, runs, "the same call again", trial);
  if (runs == kRuns) return trial.verdict();
  const std::string variant = "a short piece of it, a hundred times";
  if (const std::optional<LawSide> piece = trial.run(short_piece(law_case), variant))
    run_again(backend, *piece, kRuns, variant, trial);
  return trial.verdict();
}

}  // namespace

Law repetition_law() {
  return {.name = "repetition",
          .statement = "the same call gives the same bits a hundred times, in any order of threads",
          .why_not_applicable = always_applicable,
          .check = check};
}

}  // namespace recto::verify

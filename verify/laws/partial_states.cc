#include "verify/laws/partial_states.h"

#include "reference/rounding.h"
#include "verify/laws/problem_geometry.h"

namespace recto::verify {
namespace {

using reference::SoftmaxState;

// Uses round_to() instead of a cast: if two neighbouring doubles are cast to float and stored as
// doubles again, g++ 12's vectoriser drops the conversion and leaves them unchanged.
double stored(double value, StateType type) {
  return type == StateType::kFp32 ? reference::round_to(value, ElementType::kFp32) : value;
}

SoftmaxState stored(SoftmaxState state, StateType type) {
  state.maximum = stored(state.maximum, type);
  state.sum = stored(state.sum, type);
  for (double& weighted : state.weighted) weighted = stored(weighted, type);
  return state;
}

double dot(const float* a, const float* b, std::int64_t size) {
  double sum = 0.0;
  for (std::int64_t d = 0; d < size; ++d) sum += static_cast<double>(a[d]) * b[d];
  return sum;
}

// The state of keys [keys.begin, keys.end).
SoftmaxState state_of(const AttentionProblem& problem, const ElementPlace& place,
                      const KeysSeen& keys) {
  const ProblemShape& shape = problem.shape;
  const SequenceProblem& sequence = problem.sequences[static_cast<std::size_t>(place.sequence)];
  if (keys.size() == 0) return SoftmaxState::identity(shape.head_dim_v);
  const std::int64_t kv_head = place.head / shape.group();
  const float* q = row_of(sequence.q, {shape.num_q_heads, shape.head_dim_k}, place.row, place.head);
  const double score_scale = problem.options.scale * scale_of_head(problem.k_scales, kv_head);
  const double value_scale = scale_of_head(problem.v_scales, kv_head);
  reference::Vector scores(keys.size());
  reference::Matrix values(keys.size(), shape.head_dim_v);
  for (std::int64_t j = 0; j < keys.size(); ++j) {
    const std::int64_t key = keys.begin + j;
    const float* k = row_of(sequence.k, {shape.num_kv_heads, shape.head_dim_k}, key, kv_head);
    const float* v = row_of(sequence.v, {shape.num_kv_heads, shape.head_dim_v}, key, kv_head);
    scores[j] = score_scale * dot(q, k, shape.head_dim_k);
    for (std::int64_t d = 0; d < shape.head_dim_v; ++d) values(j, d) = value_scale * v[d];
  }
  return reference::tile_state(scores, values);
}

}  // namespace

std::vector<RowStates> row_states(const AttentionProblem& problem, StateType type) {
  std::vector<RowStates> rows;
  for (const RowPlace& at : all_rows(problem)) {
    const std::int64_t context =
        problem.sequences[static_cast<std::size_t>(at.sequence)].context_length;
    for (std::int64_t h = 0; h < problem.shape.num_q_heads; ++h) {
      RowStates row{.place = {.sequence = at.sequence, .row = at.row, .head = h}, .parts = {}};
      for (std::int64_t part = 0; part < 3; ++part)
        row.parts[static_cast<std::size_t>(part)] =
            stored(state_of(problem, row.place,
                            {.begin = part * context / 3, .end = (part + 1) * context / 3}),
                   type);
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

void compare_state_bits(const ElementPlace& place, const SoftmaxState& seen,
                        const SoftmaxState& expected, ElementComparer& comparer) {
  ElementPlace at = place;
  at.tensor = ComparedTensor::kStateMaximum;
  comparer.expect_same_bits(at, seen.maximum, expected.maximum);
  at.tensor = ComparedTensor::kStateSum;
  comparer.expect_same_bits(at, seen.sum, expected.sum);
  at.tensor = ComparedTensor::kStateWeighted;
  for (at.dim = 0; at.dim < expected.weighted.size(); ++at.dim)
    comparer.expect_same_bits(at, seen.weighted[at.dim], expected.weighted[at.dim]);
}

LawVerdict check_merges(const Backend& backend, const LawCase& law_case, const std::string& what,
                        const std::function<void(const MergeTrial&)>& check_row) {
  LawTrial trial(backend, BoundKind::kWorstCase);
  if (!backend.state_merge) {
    trial.record_skip(*why_no_merge(backend));
    return trial.verdict();
  }
  const PlacedProblem placed(law_case.problem, law_case.placement);
  if (const auto why = backend.why_unsupported(placed.inputs())) {
    trial.record_skip(*why);
    return trial.verdict();
  }
  const reference::KernelNumerics numerics = backend.numerics(placed.inputs());
  ElementComparer comparer(placed.inputs());
  for (const RowStates& row : row_states(law_case.problem, backend.state_merge->type))
    check_row({*backend.state_merge, row, numerics, comparer});
  trial.record(what, comparer.comparison());
  return trial.verdict();
}

std::optional<std::string> why_no_merge(const Backend& backend) {
  if (backend.state_merge) return std::nullopt;
  return "exposes no merge of partial states";
}

std::optional<std::string> why_no_states(const LawCase& law_case) {
  if (longest_context(law_case.problem) == 0) return "no keys";
  return std::nullopt;
}

}  // namespace recto::verify

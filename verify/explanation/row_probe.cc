#include "verify/explanation/row_probe.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <optional>

#include "reference/error_bound.h"

namespace recto::verify {
namespace {

// V of key j is 1 in dim j - first, and 0 elsewhere.
AttentionProblem with_shown_keys(AttentionProblem problem, std::int64_t first) {
  const std::int64_t heads = problem.shape.num_kv_heads;
  const std::int64_t dims = problem.shape.head_dim_v;
  for (SequenceProblem& sequence : problem.sequences) {
    std::ranges::fill(sequence.v, 0.0F);
    const std::int64_t end = std::min(sequence.context_length, first + dims);
    for (std::int64_t key = first; key < end; ++key) {
      for (std::int64_t head = 0; head < heads; ++head) {
        const std::int64_t at = (key * heads + head) * dims + (key - first);
        sequence.v[static_cast<std::size_t>(at)] = 1.0F;
      }
    }
  }
  return problem;
}

double scale_of_v(const AttentionProblem& problem, std::int64_t head) {
  const std::vector<float>& scales = problem.options.v_scales;
  if (scales.empty()) return 1.0;
  const std::int64_t kv_head = head / problem.shape.group();
  return static_cast<double>(scales[scales.size() == 1 ? 0 : static_cast<std::size_t>(kv_head)]);
}

}  // namespace

std::int64_t row_index(const AttentionProblem& problem, const RowPlace& place) {
  std::int64_t row = place.row;
  for (std::int64_t s = 0; s < place.sequence; ++s)
    row += problem.sequences[static_cast<std::size_t>(s)].num_rows;
  return row;
}

Result<reference::AttentionResult> try_run(const Backend& backend,
                                           const PagedAttentionInputs& inputs) {
  try {
    if (const auto why = backend.why_unsupported(inputs)) return Status::failed(*why);
    return backend.run(inputs);
  } catch (const std::exception& exception) {
    return Status::failed(exception.what());
  }
}

Result<RowProbe> probe_row(const Backend& backend, const LawCase& law_case, const RowPlace& place,
                           BoundKind bound_kind) {
  const AttentionProblem& problem = law_case.problem;
  const std::int64_t dims = problem.shape.head_dim_v;
  const std::int64_t keys =
      problem.sequences[static_cast<std::size_t>(place.sequence)].context_length;
  const std::int64_t runs = (keys + dims - 1) / dims;
  if (runs > kProbeRunsMax) {
    return Status::failed(fmt::format("it would take {} runs, more than {}", runs, kProbeRunsMax));
  }
  const std::int64_t row = row_index(problem, place);
  const double scale = scale_of_v(problem, place.head);
  RowProbe probe{.runs = runs, .has_sink = !problem.options.sinks.empty()};
  for (std::int64_t first = 0; first < keys; first += dims) {
    const PlacedProblem placed(with_shown_keys(problem, first), law_case.placement);
    const PagedAttentionInputs& inputs = placed.inputs();
    const auto seen = try_run(backend, inputs);
    RECTO_RETURN_IF_ERROR(seen.status());
    const auto oracle = reference::bounded_attention(inputs, backend.numerics(inputs));
    const auto& bound = bound_kind == BoundKind::kHard ? oracle.hard : oracle.sharp;
    for (std::int64_t dim = 0; dim < std::min(dims, keys - first); ++dim) {
      probe.seen.push_back(seen.value().out_at(row, place.head, dim) / scale);
      probe.expected.push_back(oracle.exact.out_at(row, place.head, dim) / scale);
      probe.bound.push_back(bound.out_at(row, place.head, dim) / scale);
    }
    probe.lse_ln_seen = seen.value().lse_ln_at(row, place.head);
    probe.lse_ln_expected = oracle.exact.lse_ln_at(row, place.head);
    probe.lse_ln_bound = bound.lse_ln_at(row, place.head);
  }
  return probe;
}

}  // namespace recto::verify

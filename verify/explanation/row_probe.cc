#include "verify/explanation/row_probe.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <exception>
#include <optional>

#include "reference/error_bound.h"
#include "reference/kv_cache_reader.h"
#include "verify/explanation/weight_facts.h"

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

double seconds_now() {
  const auto since_epoch = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(since_epoch).count();
}

struct RightRow {
  reference::HeadOutput exact;  // in its first row
  reference::HeadBound bound;
};

// The oracle's, without the rest of the batch: one that is causal is the last row of the context
// up to it.
RightRow right_row(const PagedAttentionInputs& inputs, const RowPlace& place,
                   const reference::KernelNumerics& numerics) {
  const auto sequence = reference::sequences_of(inputs)[static_cast<std::size_t>(place.sequence)];
  const reference::HeadOptions options = reference::head_options(inputs.options, place.head);
  const std::int64_t position =
      reference::position_of(place.row, sequence.num_rows, sequence.context_length);
  const bool is_last = options.causal && position >= 0;
  const std::int64_t rows = is_last ? 1 : sequence.num_rows - place.row;
  const std::int64_t keys = is_last ? position + 1 : sequence.context_length;
  const std::int64_t kv_head = place.head / (inputs.q.num_heads / inputs.kv.k.num_kv_heads);
  const auto q = reference::read_rows(inputs.q, place.head, sequence.first_row + place.row, rows);
  const auto k = reference::gather_head(inputs.kv.k, sequence.block_table_row, keys, kv_head);
  const auto v = reference::gather_head(inputs.kv.v, sequence.block_table_row, keys, kv_head);
  const reference::HeadOutput exact = reference::dense_attention({q, k, v}, options);
  return {exact, reference::HeadErrorModel(k, v, numerics).bound(q, options, exact)};
}

// Whether the row's keys, together, get the weight that they should if q is zeros; false where they
// get too little of it to tell, as beside a sink.
bool is_weighed_at_zero_q(const Backend& backend, const LawCase& law_case, const RowPlace& place,
                          BoundKind bound_kind) {
  AttentionProblem problem = law_case.problem;
  for (SequenceProblem& sequence : problem.sequences) {
    std::ranges::fill(sequence.q, 0.0F);
    std::ranges::fill(sequence.v, 1.0F);
  }
  const PlacedProblem placed(problem, law_case.placement);
  const auto seen = try_run(backend, placed.inputs());
  if (!seen.status().is_ok()) return false;
  const RightRow right = right_row(placed.inputs(), place, backend.numerics(placed.inputs()));
  const bool is_hard = bound_kind == BoundKind::kHard;
  const double expected = right.exact.out(0, 0);
  const double bound = (is_hard ? right.bound.hard : right.bound.sharp)(0, 0);
  const double found = seen.value().out_at(row_index(problem, place), place.head, 0);
  return std::abs(expected) > kTellingBounds * bound && std::abs(found - expected) <= bound;
}

bool has_no_weight(const RowProbe& probe) {
  return std::ranges::none_of(probe.seen, [](double weight) { return weight > 0.0; });
}

}  // namespace

bool is_same_lse_ln(double a, double b, double bound) {
  constexpr double kRelative = 1e-5;  // of a wrong one, which may be large
  return a == b || (std::isnan(a) && std::isnan(b)) ||
         std::abs(a - b) <= 2.0 * bound + kRelative * std::abs(a);
}

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
                           BoundKind bound_kind, const ProbeLimits& limits) {
  const AttentionProblem& problem = law_case.problem;
  const std::int64_t dims = problem.shape.head_dim_v;
  const std::int64_t keys =
      problem.sequences[static_cast<std::size_t>(place.sequence)].context_length;
  const std::int64_t runs = (keys + dims - 1) / dims;
  if (runs > limits.runs) {
    return Status::failed(fmt::format("it would take {} runs, more than {}", runs, limits.runs));
  }
  const std::int64_t row = row_index(problem, place);
  const double scale = scale_of_v(problem, place.head);
  const double begin = seconds_now();
  RowProbe probe{.has_sink = !problem.options.sinks.empty()};
  for (; probe.runs < runs; ++probe.runs) {
    if (probe.runs > 0 && seconds_now() - begin > limits.seconds) {
      return Status::failed(
          fmt::format("after {:.6g} s not all of {} runs were made", limits.seconds, runs));
    }
    const std::int64_t first = probe.runs * dims;
    const PlacedProblem placed(with_shown_keys(problem, first), law_case.placement);
    const PagedAttentionInputs& inputs = placed.inputs();
    const auto seen = try_run(backend, inputs);
    RECTO_RETURN_IF_ERROR(seen.status());
    const RightRow right = right_row(inputs, place, backend.numerics(inputs));
    const bool is_hard = bound_kind == BoundKind::kHard;
    const reference::Matrix& bound = is_hard ? right.bound.hard : right.bound.sharp;
    for (std::int64_t dim = 0; dim < std::min(dims, keys - first); ++dim) {
      probe.seen.push_back(seen.value().out_at(row, place.head, dim) / scale);
      probe.expected.push_back(right.exact.out(0, dim) / scale);
      probe.bound.push_back(bound(0, dim) / scale);
    }
    const double lse_ln = seen.value().lse_ln_at(row, place.head);
    if (probe.runs == 0) probe.lse_ln_seen = lse_ln;
    probe.lse_ln_expected = right.exact.lse_ln[0];
    probe.lse_ln_bound = (is_hard ? right.bound.lse_ln_hard : right.bound.lse_ln_sharp)[0];
    if (!is_same_lse_ln(lse_ln, probe.lse_ln_seen, probe.lse_ln_bound)) probe.other_lse_ln = lse_ln;
  }
  if (has_no_weight(probe))
    probe.is_weighed_at_zero_q = is_weighed_at_zero_q(backend, law_case, place, bound_kind);
  return probe;
}

}  // namespace recto::verify

#include "verify/explain/weight_probe.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "core/units.h"
#include "reference/kv_cache_reader.h"
#include "verify/explain/attention_row.h"

namespace recto::verify {
namespace {

// A row in one run, before V's scale.
struct ProbedRow {
  reference::RowOutput seen;
  reference::RowOutput expected;
  reference::RowOutput bound;
};

Result<ProbedRow> run_row(const Backend& backend, const LawCase& changed, const HeadRow& at,
                          BoundKind bound_kind) {
  const PlacedProblem placed(changed.problem, changed.placement);
  const PagedAttentionInputs& inputs = placed.inputs();
  const CallOptions call = backend.options_for(changed.placement);
  const auto seen = result_or_reason(backend.call(inputs, call));
  RECTO_RETURN_IF_ERROR(seen.status());
  const reference::BoundedResult unknown;  // bounds of other rows
  const FailedCase of{inputs, seen.value(), unknown, backend.numerics(inputs, call), bound_kind};
  ReadCache cache;
  AttentionRow row(of, at, cache);
  // A causal row is computed as the last row of the context up to it.
  if (row.options.causal && row.position() >= 0) {
    row.context_length = row.position() + 1;
    row.num_rows = at.row + 1;
  }
  row.finish();
  ProbedRow probed{row_output(seen.value(), of.row_of(at), at.head), row.result->exact,
                   bound_of(*row.result, bound_kind)};
  const double scale = reference::scale_of(inputs.kv.v, row.v_head);
  for (reference::RowOutput* const part : {&probed.seen, &probed.expected, &probed.bound})
    part->out /= scale;
  return probed;
}

// Sets V of key j to 1 in dim j - first, and to 0 elsewhere.
LawCase with_shown_keys(LawCase law_case, std::int64_t first) {
  const std::int64_t heads = law_case.problem.shape.num_kv_heads;
  const std::int64_t dims = law_case.problem.shape.head_dim_v;
  for (SequenceProblem& sequence : law_case.problem.sequences) {
    std::ranges::fill(sequence.v, 0.0F);
    const std::int64_t end = std::min(sequence.context_length, first + dims);
    for (std::int64_t key = first; key < end; ++key) {
      for (std::int64_t head = 0; head < heads; ++head) {
        const std::int64_t at = (key * heads + head) * dims + (key - first);
        sequence.v[static_cast<std::size_t>(at)] = 1.0F;
      }
    }
  }
  return law_case;
}

// Whether the row's keys together get the right weight if q is zeros. False if the expected weight
// is too small to tell, as next to a sink.
bool is_weighed_at_zero_q(const Backend& backend, LawCase law_case, const HeadRow& at,
                          BoundKind bound_kind) {
  for (SequenceProblem& sequence : law_case.problem.sequences) {
    std::ranges::fill(sequence.q, 0.0F);
    std::ranges::fill(sequence.v, 1.0F);
  }
  const auto run = run_row(backend, law_case, at, bound_kind);
  if (!run.is_ok()) return false;
  const ProbedRow& row = run.value();
  return std::abs(row.expected.out[0]) > kTellingBounds * row.bound.out[0] &&
         std::abs(row.seen.out[0] - row.expected.out[0]) <= row.bound.out[0];
}

}  // namespace

bool WeightProbe::lse_ln_is_right() const {
  return lse_ln_seen == lse_ln_expected || std::abs(lse_ln_error()) <= lse_ln_bound;
}

bool WeightProbe::is_same_lse_ln(double other) const {
  constexpr double kRelative = 1e-5;  // of a wrong one, which may be large
  return other == lse_ln_seen || (std::isnan(other) && std::isnan(lse_ln_seen)) ||
         std::abs(other - lse_ln_seen) <= 2.0 * lse_ln_bound + kRelative * std::abs(other);
}

bool WeightProbe::is_right(std::int64_t key) const {
  return std::abs(seen[key] - expected[key]) <= bound[key];
}

bool WeightProbe::tells(std::int64_t key) const {
  return expected[key] > kTellingBounds * bound[key] && seen[key] > 0.0;
}

std::optional<double> WeightProbe::score_error(std::int64_t key) const {
  if (!tells(key) || !std::isfinite(lse_ln_error())) return std::nullopt;
  return std::log(seen[key] / expected[key]) + lse_ln_error();
}

double WeightProbe::score_tolerance(std::int64_t key) const {
  return 2.0 * (bound[key] / expected[key] + lse_ln_bound) + 1e-9;
}

Keys WeightProbe::missing_keys() const {
  return keys_where([&](std::int64_t key) {
    return expected[key] > kTellingBounds * bound[key] && seen[key] <= 0.0;
  });
}

Keys WeightProbe::extra_keys() const {
  return keys_where(
      [&](std::int64_t key) { return expected[key] == 0.0 && seen[key] > bound[key]; });
}

std::string list_text(const Keys& keys) {
  constexpr std::size_t kShown = 8;
  const std::size_t shown = std::min(kShown, keys.size());
  const std::string others =
      keys.size() > shown ? fmt::format(" and {} more", keys.size() - shown) : "";
  return fmt::format(
      "{} {}{}", keys.size() == 1 ? "key" : "keys",
      fmt::join(keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(shown), ", "), others);
}

std::string others_text(std::size_t others) {
  return fmt::format("{} {}", others, others == 1 ? "other" : "others");
}

Result<WeightProbe> probe_weights(const Backend& backend, const LawCase& law_case,
                                  const HeadRow& at, BoundKind bound_kind,
                                  const ProbeLimits& limits) {
  const AttentionProblem& problem = law_case.problem;
  const std::int64_t dims = problem.shape.head_dim_v;
  const std::int64_t keys = problem.sequences[static_cast<std::size_t>(at.sequence)].context_length;
  const std::int64_t runs = ceil_div(keys, dims);
  if (runs > limits.runs) {
    return Status::failed(fmt::format("it would take {} runs, more than {}", runs, limits.runs));
  }
  const auto begin = std::chrono::steady_clock::now();
  WeightProbe probe{.seen = reference::Vector(keys),
                    .expected = reference::Vector(keys),
                    .bound = reference::Vector(keys),
                    .has_sink = !problem.options.sinks.empty()};
  for (; probe.runs < runs; ++probe.runs) {
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
    if (probe.runs > 0 && elapsed.count() > limits.seconds) {
      return Status::failed(
          fmt::format("after {:.6g} s not all of {} runs were made", limits.seconds, runs));
    }
    const std::int64_t first = probe.runs * dims;
    const std::int64_t shown = std::min(dims, keys - first);
    const auto run = run_row(backend, with_shown_keys(law_case, first), at, bound_kind);
    RECTO_RETURN_IF_ERROR(run.status());
    const auto& [seen, expected, bound] = run.value();
    probe.seen.segment(first, shown) = seen.out.head(shown);
    probe.expected.segment(first, shown) = expected.out.head(shown);
    probe.bound.segment(first, shown) = bound.out.head(shown);
    if (probe.runs == 0) probe.lse_ln_seen = seen.lse_ln;
    probe.lse_ln_expected = expected.lse_ln;
    probe.lse_ln_bound = bound.lse_ln;
    if (!probe.is_same_lse_ln(seen.lse_ln)) probe.other_lse_ln = seen.lse_ln;
  }
  if (!(probe.seen.array() > 0.0).any())
    probe.is_weighed_at_zero_q = is_weighed_at_zero_q(backend, law_case, at, bound_kind);
  return probe;
}

}  // namespace recto::verify

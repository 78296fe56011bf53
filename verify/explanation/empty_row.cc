#include "verify/explanation/empty_row.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "reference/kv_cache_reader.h"
#include "verify/explanation/weight_facts.h"

namespace recto::verify {
namespace {

reference::SequenceRows sequence_at(const PagedAttentionInputs& inputs, const RowPlace& place) {
  return reference::sequences_of(inputs)[static_cast<std::size_t>(place.sequence)];
}

bool is_zeros(const std::vector<double>& out) {
  return std::ranges::all_of(out, [](double value) { return value == 0.0; });
}

std::string out_text(const std::vector<double>& out) {
  if (is_zeros(out)) return "out is zeros";
  const auto is_nan = [](double value) { return std::isnan(value); };
  if (std::ranges::all_of(out, is_nan)) return "out is NaN";
  const auto first = std::ranges::find_if(out, [](double value) { return value != 0.0; });
  return fmt::format("out is not zeros: {:.6g} in dim {}", *first, first - out.begin());
}

std::string lse_ln_text(const EmptyRow& row) {
  if (!row.lse_ln_seen) return "";
  if (row.lse_ln_is_right) return ", lse_ln is right";
  return fmt::format(", lse_ln is {:.6g}", *row.lse_ln_seen);
}

std::string cause_text(const EmptyRow& row) {
  if (row.out_is_stale || row.lse_ln_is_stale) {
    const char* const what = row.out_is_stale && row.lse_ln_is_stale ? "both follow"
                             : row.out_is_stale                      ? "out follows"
                                                                     : "lse_ln follows";
    return fmt::format(
        "; {} what memory held before the call, and so nothing is written there, or "
        "something is added to it",
        what);
  }
  if (row.attended.empty()) return "";
  return fmt::format("; {} {} weight all the same: the mask", list_text(row.attended),
                     row.attended.size() == 1 ? "gets" : "get");
}

}  // namespace

bool has_no_key(const PagedAttentionInputs& inputs, const RowPlace& place) {
  const reference::SequenceRows sequence = sequence_at(inputs, place);
  return reference::visible_keys(reference::head_options(inputs.options, place.head), place.row,
                                 sequence.num_rows, sequence.context_length)
             .size() == 0;
}

EmptyRow empty_row(const PagedAttentionInputs& inputs, const RowPlace& place,
                   const reference::AttentionResult& seen, const reference::BoundedResult& oracle,
                   BoundKind bound_kind) {
  const auto& bound = bound_kind == BoundKind::kHard ? oracle.hard : oracle.sharp;
  const reference::SequenceRows sequence = sequence_at(inputs, place);
  const std::int64_t at = sequence.first_row + place.row;
  EmptyRow row{.context_length = sequence.context_length,
               .has_sink = !inputs.options.sinks.empty(),
               .lse_ln_expected = oracle.exact.lse_ln_at(at, place.head)};
  for (std::int64_t dim = 0; dim < seen.head_dim; ++dim)
    row.out.push_back(seen.out_at(at, place.head, dim));
  if (seen.lse_ln.empty()) return row;
  const double found = seen.lse_ln_at(at, place.head);
  row.lse_ln_seen = found;
  row.lse_ln_is_right = found == row.lse_ln_expected ||
                        std::abs(found - row.lse_ln_expected) <= bound.lse_ln_at(at, place.head);
  return row;
}

bool weights_give(const RowProbe& probe, const PagedAttentionInputs& inputs, const RowPlace& place,
                  const std::vector<double>& out) {
  if (!(total(probe.seen) > 0.0)) return false;
  const reference::SequenceRows sequence = sequence_at(inputs, place);
  const std::int64_t group = inputs.q.num_heads / inputs.kv.k.num_kv_heads;
  const reference::Matrix v = reference::gather_head(inputs.kv.v, sequence.block_table_row,
                                                     sequence.context_length, place.head / group);
  const Eigen::Map<const Eigen::RowVectorXd> weights(probe.seen.data(), std::ssize(probe.seen));
  // Two roundings to bf16, generously.
  constexpr double kRelative = 0.02;
  for (std::int64_t dim = 0; dim < v.cols(); ++dim) {
    const double given = weights * v.col(dim);
    const double magnitude = weights.cwiseAbs() * v.col(dim).cwiseAbs();
    const double error = std::abs(given - out[static_cast<std::size_t>(dim)]);
    if (!(error <= kRelative * magnitude)) return false;
  }
  return true;
}

Diagnosis diagnose_empty_row(const EmptyRow& row) {
  const std::string why = fmt::format(
      "the row has no key to attend to: {}. By definition out is zeros, and lse_ln is {}; seen: "
      "{}{}{}",
      row.context_length == 0 ? "its context is empty"
                              : "it stands before the first key of its context",
      row.has_sink ? fmt::format("the head's sink, {:.6g}", row.lse_ln_expected) : "-inf",
      out_text(row.out), lse_ln_text(row), cause_text(row));
  if (!row.attended.empty())
    return {.step = Step::kScores, .why = why, .key = row.attended.front()};
  return {.step = is_zeros(row.out) ? Step::kSum : Step::kOutput, .why = why};
}

}  // namespace recto::verify

#include "verify/explain/judged_runs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "reference/error_bound.h"
#include "reference/kv_cache_reader.h"
#include "verify/explain/explanation.h"
#include "verify/law_runner.h"
#include "verify/quoted_text.h"

namespace recto::verify {
namespace {

using reference::AttentionResult;

template <typename Numbers>
std::string numbers_text(const Numbers& numbers) {
  return numbers.empty() ? "none" : fmt::format("{}", fmt::join(numbers, " "));
}

std::string strides_text(const KvTensorView& view) {
  return fmt::format("{} {} {}", view.block_stride, view.head_stride, view.slot_stride);
}

std::vector<float> scales_of(const KvTensorView& view) {
  if (view.scale.kind == ScaleKind::kNone) return {};
  const std::int64_t count = view.scale.kind == ScaleKind::kPerTensor ? 1 : view.num_kv_heads;
  return {view.scale.data, view.scale.data + count};
}

// Sizes and options, by name; the same names for all inputs.
std::vector<std::pair<const char*, std::string>> facts_of(const PagedAttentionInputs& inputs) {
  const AttentionOptions& options = inputs.options;
  const KvTensorView& k = inputs.kv.k;
  const KvTensorView& v = inputs.kv.v;
  std::vector<std::int64_t> rows;
  for (const reference::SequenceRows& sequence : reference::sequences_of(inputs))
    rows.push_back(sequence.num_rows);
  return {{"sequences", fmt::format("{}", rows.size())},
          {"rows", numbers_text(rows)},
          {"contexts", numbers_text(inputs.context_length)},
          {"q heads", fmt::format("{}", inputs.q.num_heads)},
          {"KV heads", fmt::format("{}", k.num_kv_heads)},
          {"head dims", fmt::format("{} of q and k, {} of v", k.head_dim, v.head_dim)},
          {"layout", kv_layout_name(k.layout)},
          {"block size", fmt::format("{}", k.block_size)},
          {"blocks", fmt::format("{}", k.num_blocks)},
          {"K's strides", strides_text(k)},
          {"V's strides", strides_text(v)},
          {"table", fmt::format("{} wide", inputs.block_table.row_stride)},
          {"scale", fmt::format("{}", options.scale)},
          {"soft cap", fmt::format("{}", options.softcap)},
          {"causal", options.causal ? "yes" : "no"},
          {"window", options.window ? fmt::format("{}", *options.window) : "none"},
          {"ALiBi", numbers_text(options.alibi_slopes)},
          {"sinks", numbers_text(options.sinks)},
          {"K's scales", numbers_text(scales_of(k))},
          {"V's scales", numbers_text(scales_of(v))}};
}

std::string shortened(const std::string& text) {
  constexpr std::size_t kShown = 40;  // characters per list
  return text.size() <= kShown ? text : text.substr(0, kShown) + "...";
}

void append(const Eigen::RowVectorXd& row, std::vector<float>& values) {
  for (const double value : row) values.push_back(static_cast<float>(value));
}

// [num_rows, num_heads, head_dim]
std::vector<float> rows_of(const RowsView& view, const reference::SequenceRows& sequence) {
  std::vector<float> values;
  for (std::int64_t row = 0; row < sequence.num_rows; ++row)
    for (std::int64_t head = 0; head < view.num_heads; ++head)
      append(reference::read_rows(view, head, sequence.first_row + row, 1).row(0), values);
  return values;
}

// The cache's codes, without the scale: [context_length, num_kv_heads, head_dim]
std::vector<float> codes_of(KvTensorView view, const reference::SequenceRows& sequence) {
  view.scale = {};
  std::vector<float> values;
  Eigen::RowVectorXd codes(view.head_dim);
  for (std::int64_t key = 0; key < sequence.context_length; ++key) {
    const std::int64_t block = sequence.block_table_row[key / view.block_size];
    for (std::int64_t head = 0; head < view.num_kv_heads; ++head) {
      reference::read_slot(view, block, head, key % view.block_size, codes);
      append(codes, values);
    }
  }
  return values;
}

using Calls =
    std::function<CallOutcome(const PagedAttentionInputs& inputs, const CallOptions& options)>;

// The same backend, with its calls replaced by `calls`.
Backend with_calls(const Backend& backend, const Calls& calls) {
  Backend result = backend;
  result.attend = calls;
  return result;
}

// Whether the oracle has a number and a bound for each element.
bool are_judged(const std::vector<double>& exact, const std::vector<double>& bound) {
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const bool has_bound = bound[i] >= 0 && (std::isinf(exact[i]) || std::isfinite(bound[i]));
    if (std::isnan(exact[i]) || !has_bound) return false;
  }
  return true;
}

// Compares a run with the oracle if there is work left. Resets runs.first unless the run departs.
void judge(const AttentionResult& seen, const PagedAttentionInputs& inputs, const TriedLaw& tried,
           JudgedRuns& runs) {
  LawCase law_case = case_of(inputs, tried.law_case.placement);
  runs.work_left -= static_cast<double>(law_case.problem.work());
  if (runs.work_left < 0) return runs.first.reset();
  const auto oracle =
      reference::bounded_attention(inputs, tried.backend.numerics(inputs, runs.first->options));
  const AttentionResult& bound = bound_of(oracle, tried.bound_kind);
  const bool is_judged =
      are_judged(oracle.exact.out, bound.out) && are_judged(oracle.exact.lse_ln, bound.lse_ln);
  if (!is_judged) return runs.first.reset();
  ++runs.judged;
  const Comparison comparison = compare(inputs, seen, oracle.exact, bound);
  if (comparison.passed()) return runs.first.reset();
  runs.first->comparison = comparison;
  runs.first->law_case = std::move(law_case);
}

// Makes each call in place of the run, after the law's earlier calls. Later calls are not made.
Backend in_place_of(const DepartedRun& run, const TriedLaw& tried,
                    const std::function<void()>& begin) {
  Backend backend;
  backend.name = tried.backend.name;
  backend.numerics_of = [&](const PagedAttentionInputs& inputs, const CallOptions&) {
    return tried.backend.numerics(inputs, run.options);
  };
  backend.attend = [&run, &tried, begin](const PagedAttentionInputs& replacing,
                                         const CallOptions&) {
    begin();
    std::int64_t attempt = 0;
    std::optional<CallOutcome> seen;
    const auto calls = [&](const PagedAttentionInputs& inputs,
                           const CallOptions& options) -> CallOutcome {
      if (++attempt < run.attempt) return tried.backend.attend(inputs, options);
      if (attempt == run.attempt) seen = tried.backend.call(replacing, run.options);
      return Failed{kThrown, "it comes after the explained run"};
    };
    const LawVerdict verdict =
        verdict_of(tried.law, with_calls(tried.backend, calls), tried.law_case, tried.bound_kind);
    if (seen) return *seen;
    return verdict.call_failure ? CallOutcome(*verdict.call_failure)
                                : Unsupported{"repeated, the law does not reach this run"};
  };
  return backend;
}

// The text if all runs that were judged are right.
std::string right_text(const JudgedRuns& runs) {
  if (runs.judged < runs.made) {
    return fmt::format(
        "runs       of the law's {} runs, {} are judged by the oracle, and right; the "
        "others {}\n",
        runs.made, runs.judged,
        runs.work_left < 0 ? "would take too long" : "read values that are not finite");
  }
  if (runs.made == 1) return "runs       the law's only run is right by the oracle\n";
  return fmt::format(
      "runs       each of the law's {} runs is right by the oracle: they differ from each "
      "other by more than the law allows\n",
      runs.made);
}

std::string departed_text(const JudgedRuns& runs, const DepartedRun& run) {
  const std::string which =
      run.comparison
          ? fmt::format("run {} of the law's {} is the first that the oracle finds wrong", run.run,
                        runs.made)
          : fmt::format("run {} of the law did not return", run.run);
  return fmt::format("runs       {}; {}\n{}", which,
                     run.differing.empty() ? "its sizes and options are those of the case"
                                           : "it differs from the case in",
                     run.differing);
}

}  // namespace

std::string differing_text(const PagedAttentionInputs& inputs,
                           const PagedAttentionInputs& of_case) {
  const auto own = facts_of(inputs);
  const auto others = facts_of(of_case);
  std::string text;
  for (std::size_t i = 0; i < own.size(); ++i) {
    if (own[i].second == others[i].second) continue;
    text += fmt::format("  {:<11} {}, of the case {}\n", own[i].first, shortened(own[i].second),
                        shortened(others[i].second));
  }
  return text;
}

LawCase case_of(const PagedAttentionInputs& inputs, Placement placement) {
  const KvTensorView& k = inputs.kv.k;
  const KvTensorView& v = inputs.kv.v;
  placement.layout = k.layout;
  placement.block_size = k.block_size;
  AttentionProblem problem{.shape = {.num_q_heads = inputs.q.num_heads,
                                     .num_kv_heads = k.num_kv_heads,
                                     .head_dim_k = k.head_dim,
                                     .head_dim_v = v.head_dim,
                                     .q_type = inputs.q.type,
                                     .kv_type = k.type},
                           .options = options_as<OwnedAttentionOptions>(inputs.options),
                           .k_scales = scales_of(k),
                           .v_scales = scales_of(v),
                           .sequences = {}};
  for (const reference::SequenceRows& sequence : reference::sequences_of(inputs)) {
    problem.sequences.push_back({.num_rows = sequence.num_rows,
                                 .context_length = sequence.context_length,
                                 .q = rows_of(inputs.q, sequence),
                                 .k = codes_of(k, sequence),
                                 .v = codes_of(v, sequence)});
  }
  return {.problem = std::move(problem), .placement = placement};
}

LawVerdict judged_verdict(const TriedLaw& tried, JudgedRuns& runs, double work_max) {
  runs = {.work_left = work_max};
  if (!tried.backend.computes_attention())
    return verdict_of(tried.law, tried.backend, tried.law_case, tried.bound_kind);
  const PlacedProblem placed(tried.law_case.problem, tried.law_case.placement);
  std::int64_t attempt = 0;
  const auto calls = [&](const PagedAttentionInputs& inputs, const CallOptions& options) {
    ++attempt;
    CallOutcome outcome = tried.backend.attend(inputs, options);
    if (std::holds_alternative<Unsupported>(outcome)) return outcome;
    ++runs.made;
    if (runs.first) return outcome;
    // Stays set if the call does not return.
    runs.first = DepartedRun{.attempt = attempt,
                             .run = runs.made,
                             .options = options,
                             .differing = differing_text(inputs, placed.inputs()),
                             .comparison = {},
                             .law_case = {}};
    if (const auto* done = std::get_if<Done>(&outcome)) judge(done->result, inputs, tried, runs);
    return outcome;
  };
  return verdict_of(tried.law, with_calls(tried.backend, calls), tried.law_case, tried.bound_kind);
}

std::string explained_runs(const TriedLaw& tried, const JudgedRuns& runs,
                           const std::function<void()>& begin) {
  if (!runs.first) return right_text(runs);
  const DepartedRun& run = *runs.first;
  std::string text = departed_text(runs, run);
  if (!run.comparison) return text;
  const Explanation explanation =
      explain(in_place_of(run, tried, begin), run.law_case, tried.bound_kind);
  if (explanation.is_wrong()) return text + explanation_text(explanation, run.law_case);
  text += fmt::format("oracle     {}\n", indented(run.comparison->text()).substr(2));
  if (explanation.not_run)
    return text + fmt::format("  it is not explained:\n{}\n", indented(*explanation.not_run));
  return text + "  run again in its place, in newly laid out memory, it is right\n";
}

}  // namespace recto::verify

#include "verify/explain/judged_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "reference/error_bound.h"
#include "verify/explain/explanation.h"
#include "verify/explain/run_inputs.h"
#include "verify/law_runner.h"
#include "verify/quoted_text.h"

namespace recto::verify {
namespace {

using reference::AttentionResult;

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
  const auto& bound =
      tried.bound_kind == BoundKind::kWorstCase ? oracle.worst_case : oracle.probabilistic;
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

#include "verify/explain/judged_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "reference/error_bound.h"
#include "verify/case_work.h"
#include "verify/explain/explanation.h"
#include "verify/explain/run_inputs.h"
#include "verify/indented.h"
#include "verify/law_runner.h"

namespace recto::verify {
namespace {

using reference::AttentionResult;

// What a law asks of a backend, and of those that it makes of it, comes here.
struct Between {
  RunCount count;
  const PagedAttentionInputs* asked_last = nullptr;
  bool is_asked_first = false;  // the run that was made last, by the last of count.asked
  std::function<std::optional<std::string>(const Backend&, const PagedAttentionInputs&)> ask =
      [](const Backend& backend, const PagedAttentionInputs& inputs) {
        return backend.why_unsupported(inputs);
      };
  std::function<AttentionResult(const Backend&, const PagedAttentionInputs&)> run;
};

Backend with_between(const Backend& backend, const std::shared_ptr<Between>& between) {
  Backend result = backend;
  result.why_unsupported = [between, backend](const PagedAttentionInputs& inputs) {
    ++between->count.asked;
    between->asked_last = &inputs;
    return between->ask(backend, inputs);
  };
  result.run = [between, backend](const PagedAttentionInputs& inputs) {
    ++between->count.made;
    between->is_asked_first = std::exchange(between->asked_last, nullptr) == &inputs;
    return between->run(backend, inputs);
  };
  // What its user has said of it holds whatever memory it is handed.
  const auto in_memory = [between, numerics = backend.numerics](Backend made) {
    made.numerics = numerics;
    return with_between(made, between);
  };
  if (backend.with_stale_memory) {
    result.with_stale_memory = [in_memory, with = backend.with_stale_memory](auto pattern) {
      return in_memory(with(pattern));
    };
  }
  if (backend.with_out_gaps) {
    result.with_out_gaps = [in_memory, with = backend.with_out_gaps](const RowGaps& gaps) {
      return in_memory(with(gaps));
    };
  }
  if (backend.with_split_size) {
    result.with_split_size = [between, with = backend.with_split_size](std::int64_t size) {
      std::optional<Backend> made = with(size);
      return made ? with_between(*made, between) : made;
    };
  }
  return result;
}

// Whether the oracle has a number, and a bound, for each element.
bool are_judged(const std::vector<double>& exact, const std::vector<double>& bound) {
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const bool has_bound = bound[i] >= 0 && (std::isinf(exact[i]) || std::isfinite(bound[i]));
    if (std::isnan(exact[i]) || !has_bound) return false;
  }
  return true;
}

// Compares a run with the oracle, as far as there is work left: runs.first stays if it departs.
void judge(const AttentionResult& seen, const PagedAttentionInputs& inputs, const TriedLaw& tried,
           JudgedRuns& runs) {
  LawCase law_case = case_of(inputs, tried.law_case.placement);
  runs.work_left -= static_cast<double>(case_work(law_case.problem));
  if (runs.work_left < 0) return runs.first.reset();
  const auto oracle = reference::bounded_attention(inputs, runs.first->numerics(inputs));
  const auto& bound = tried.bound_kind == BoundKind::kHard ? oracle.hard : oracle.sharp;
  const bool is_judged =
      are_judged(oracle.exact.out, bound.out) && are_judged(oracle.exact.lse_ln, bound.lse_ln);
  if (!is_judged) return runs.first.reset();
  ++runs.judged;
  const Comparison comparison = compare(inputs, seen, oracle.exact, bound);
  if (comparison.passed()) return runs.first.reset();
  runs.first->comparison = comparison;
  runs.first->law_case = std::move(law_case);
}

// Makes each call in the place of the run, after the law's runs before it. What comes after it is
// not run.
Backend in_place_of(const DepartedRun& run, const TriedLaw& tried,
                    const std::function<void()>& begin) {
  struct Outcome {
    bool is_over = false;
    std::optional<std::string> why_refused;
    std::optional<AttentionResult> seen;
  };
  const auto last = std::make_shared<Outcome>();
  Backend backend;
  backend.name = tried.backend.name;
  backend.numerics = run.numerics;
  backend.why_unsupported =
      [&run, &tried, begin,
       last](const PagedAttentionInputs& replacing) -> std::optional<std::string> {
    begin();
    *last = {};
    const auto between = std::make_shared<Between>();
    // Must not own itself.
    between->ask = [&, at = between.get()](
                       const Backend& asked,
                       const PagedAttentionInputs& inputs) -> std::optional<std::string> {
      if (last->is_over) return "it comes after the run that is explained";
      // To some backends the question is the call.
      if (run.is_asked_first && at->count.asked == run.place.asked) return std::nullopt;
      return asked.why_unsupported(inputs);
    };
    between->run = [&, at = between.get()](const Backend& made,
                                           const PagedAttentionInputs& inputs) {
      if (at->count.made < run.place.made) return made.run(inputs);
      if (!std::exchange(last->is_over, true)) {
        if (run.is_asked_first) last->why_refused = made.why_unsupported(replacing);
        if (!last->why_refused) last->seen = made.run(replacing);
      }
      AttentionResult nothing(inputs.q.num_rows, inputs.q.num_heads, inputs.kv.v.head_dim);
      std::ranges::fill(nothing.out, std::numeric_limits<double>::quiet_NaN());
      std::ranges::fill(nothing.lse_ln, std::numeric_limits<double>::quiet_NaN());
      return nothing;
    };
    const LawVerdict verdict = verdict_of(tried.law, with_between(tried.backend, between),
                                          tried.law_case, tried.bound_kind);
    if (last->seen || last->why_refused) return last->why_refused;
    return verdict.thrown.value_or("tried again, the law does not come to it");
  };
  backend.run = [last](const PagedAttentionInputs& /*inputs*/) { return *last->seen; };
  return backend;
}

// Of runs that are right, as far as they are judged.
std::string right_text(const JudgedRuns& runs) {
  if (runs.judged < runs.made) {
    return fmt::format(
        "runs       of the law's {}, {} are judged by the oracle, and right; the "
        "others {}\n",
        runs.made, runs.judged, runs.work_left < 0 ? "would take long" : "see what is not finite");
  }
  if (runs.made == 1) return "runs       the one that the law makes is right by the oracle\n";
  return fmt::format(
      "runs       each of the law's {} is right by the oracle: they differ from each "
      "other by more than the law allows\n",
      runs.made);
}

std::string departed_text(const JudgedRuns& runs, const DepartedRun& run) {
  const std::string which =
      run.comparison
          ? fmt::format("run {} of the law's {} is the first that the oracle finds wrong",
                        run.place.made, runs.made)
          : fmt::format("run {} of the law did not come back", run.place.made);
  return fmt::format("runs       {}; {}\n{}", which,
                     run.differing.empty() ? "its sizes and options are those of the case"
                                           : "it differs from the case in",
                     run.differing);
}

}  // namespace

LawVerdict judged_verdict(const TriedLaw& tried, JudgedRuns& runs, double work_max) {
  runs = {.work_left = work_max};
  if (!tried.backend.run)
    return verdict_of(tried.law, tried.backend, tried.law_case, tried.bound_kind);
  const PlacedProblem placed(tried.law_case.problem, tried.law_case.placement);
  const auto between = std::make_shared<Between>();
  between->run = [&, at = between.get()](const Backend& made, const PagedAttentionInputs& inputs) {
    ++runs.made;
    if (runs.first) return made.run(inputs);
    // Stays if the run does not come back.
    runs.first = DepartedRun{.place = at->count,
                             .is_asked_first = at->is_asked_first,
                             .differing = differing_text(inputs, placed.inputs()),
                             .comparison = {},
                             .law_case = {},
                             .numerics = made.numerics};
    const AttentionResult seen = made.run(inputs);
    judge(seen, inputs, tried, runs);
    return seen;
  };
  return verdict_of(tried.law, with_between(tried.backend, between), tried.law_case,
                    tried.bound_kind);
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
  return text + "  made again in its place, in memory laid out anew, it is right\n";
}

}  // namespace recto::verify

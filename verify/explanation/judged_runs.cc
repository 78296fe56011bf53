#include "verify/explanation/judged_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "reference/error_bound.h"
#include "verify/explanation/explanation.h"
#include "verify/explanation/run_inputs.h"
#include "verify/indented.h"
#include "verify/law_runner.h"

namespace recto::verify {
namespace {

using reference::AttentionResult;

// Takes what a law asks of a backend, and of those that it makes of it.
class Between {
 public:
  virtual ~Between() = default;
  virtual std::optional<std::string> why_unsupported(const Backend& backend,
                                                     const PagedAttentionInputs& inputs) = 0;
  virtual AttentionResult run(const Backend& backend, const PagedAttentionInputs& inputs) = 0;
};

Backend with_between(const Backend& backend, const std::shared_ptr<Between>& between) {
  Backend result = backend;
  result.why_unsupported = [between, backend](const PagedAttentionInputs& inputs) {
    return between->why_unsupported(backend, inputs);
  };
  result.run = [between, backend](const PagedAttentionInputs& inputs) {
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

// Counts what it is asked. A run is asked for first if its inputs are those asked about last.
class Counter {
 public:
  void ask(const PagedAttentionInputs& inputs) {
    ++count_.asked;
    last_ = &inputs;
  }
  void run(const PagedAttentionInputs& inputs) {
    ++count_.made;
    is_asked_first_ = last_ == &inputs;
    last_ = nullptr;
  }
  const RunCount& count() const { return count_; }
  bool is_asked_first() const { return is_asked_first_; }

 private:
  RunCount count_;
  const PagedAttentionInputs* last_ = nullptr;
  bool is_asked_first_ = false;
};

// Whether the oracle has a number, and a bound, for each element.
bool are_judged(const std::vector<double>& exact, const std::vector<double>& bound) {
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const bool has_bound = bound[i] >= 0 && (std::isinf(exact[i]) || std::isfinite(bound[i]));
    if (std::isnan(exact[i]) || !has_bound) return false;
  }
  return true;
}

class Judge : public Between {
 public:
  Judge(const TriedLaw& tried, JudgedRuns& runs, double work_left)
      : tried_(tried), runs_(runs), work_left_(work_left) {
    const PlacedProblem placed(tried.law_case.problem, tried.law_case.placement);
    of_case_ = facts_of(placed.inputs());
  }

  std::optional<std::string> why_unsupported(const Backend& backend,
                                             const PagedAttentionInputs& inputs) override {
    counter_.ask(inputs);
    return backend.why_unsupported(inputs);
  }

  AttentionResult run(const Backend& backend, const PagedAttentionInputs& inputs) override {
    counter_.run(inputs);
    ++runs_.made;
    if (runs_.first) return backend.run(inputs);
    runs_.first = DepartedRun{.place = counter_.count(),
                              .is_asked_first = counter_.is_asked_first(),
                              .differing = differing_text(facts_of(inputs), of_case_),
                              .comparison = {},
                              .law_case = {},
                              .numerics = backend.numerics};
    const AttentionResult seen = backend.run(inputs);
    judge(seen, inputs);
    if (!runs_.first->comparison) runs_.first.reset();
    return seen;
  }

 private:
  void judge(const AttentionResult& seen, const PagedAttentionInputs& inputs) {
    work_left_ -= work_of(inputs);
    if (work_left_ < 0) {
      runs_.is_work_spent = true;
      return;
    }
    const auto oracle = reference::bounded_attention(inputs, runs_.first->numerics(inputs));
    const auto& bound = tried_.bound_kind == BoundKind::kHard ? oracle.hard : oracle.sharp;
    const bool is_judged =
        are_judged(oracle.exact.out, bound.out) && are_judged(oracle.exact.lse_ln, bound.lse_ln);
    if (!is_judged) return;
    ++runs_.judged;
    const Comparison comparison = compare(inputs, seen, oracle.exact, bound);
    if (comparison.passed()) return;
    runs_.first->comparison = comparison;
    runs_.first->law_case = case_of(inputs, tried_.law_case.placement);
  }

  const TriedLaw& tried_;
  JudgedRuns& runs_;
  double work_left_;
  std::vector<InputFact> of_case_;
  Counter counter_;
};

// Puts other inputs in the place of one run. What comes after it is not run.
class Replacement : public Between {
 public:
  Replacement(const DepartedRun& run, const PagedAttentionInputs& inputs)
      : run_(run), inputs_(inputs) {}

  std::optional<std::string> why_unsupported(const Backend& backend,
                                             const PagedAttentionInputs& inputs) override {
    counter_.ask(inputs);
    if (is_over_) return "it comes after the run that is explained";
    // To some backends the question is the call.
    if (run_.is_asked_first && counter_.count().asked == run_.place.asked) return std::nullopt;
    return backend.why_unsupported(inputs);
  }

  AttentionResult run(const Backend& backend, const PagedAttentionInputs& inputs) override {
    counter_.run(inputs);
    if (counter_.count().made < run_.place.made) return backend.run(inputs);
    if (!std::exchange(is_over_, true)) {
      if (run_.is_asked_first) why_refused_ = backend.why_unsupported(inputs_);
      if (!why_refused_) seen_ = backend.run(inputs_);
    }
    AttentionResult nothing(inputs.q.num_rows, inputs.q.num_heads, inputs.kv.v.head_dim);
    std::ranges::fill(nothing.out, std::numeric_limits<double>::quiet_NaN());
    std::ranges::fill(nothing.lse_ln, std::numeric_limits<double>::quiet_NaN());
    return nothing;
  }

  const std::optional<std::string>& why_refused() const { return why_refused_; }
  const std::optional<AttentionResult>& seen() const { return seen_; }

 private:
  const DepartedRun& run_;
  const PagedAttentionInputs& inputs_;
  Counter counter_;
  bool is_over_ = false;
  std::optional<std::string> why_refused_;  // of the other inputs
  std::optional<AttentionResult> seen_;
};

// Makes each call in the place of the run, after the law's runs before it.
Backend in_place_of(const DepartedRun& run, const TriedLaw& tried,
                    const std::function<void()>& begin) {
  const auto seen = std::make_shared<AttentionResult>();
  Backend backend;
  backend.name = tried.backend.name;
  backend.numerics = run.numerics;
  backend.why_unsupported = [&run, &tried, begin, seen](
                                const PagedAttentionInputs& inputs) -> std::optional<std::string> {
    begin();
    const auto replacement = std::make_shared<Replacement>(run, inputs);
    const LawVerdict verdict = verdict_of(tried.law, with_between(tried.backend, replacement),
                                          tried.law_case, tried.bound_kind);
    if (replacement->seen()) {
      *seen = *replacement->seen();
      return std::nullopt;
    }
    if (replacement->why_refused()) return replacement->why_refused();
    return verdict.thrown.value_or("tried again, the law does not come to it");
  };
  backend.run = [seen](const PagedAttentionInputs& /*inputs*/) { return *seen; };
  return backend;
}

// Of runs that are right, as far as they are judged.
std::string right_text(const JudgedRuns& runs) {
  if (runs.judged < runs.made) {
    return fmt::format(
        "runs       of the law's {}, {} are judged by the oracle, and right; the "
        "others {}\n",
        runs.made, runs.judged, runs.is_work_spent ? "would take long" : "see what is not finite");
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
  runs = {};
  if (!tried.backend.run)
    return verdict_of(tried.law, tried.backend, tried.law_case, tried.bound_kind);
  const auto judge = std::make_shared<Judge>(tried, runs, work_max);
  return verdict_of(tried.law, with_between(tried.backend, judge), tried.law_case,
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

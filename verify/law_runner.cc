#include "verify/law_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <limits>
#include <set>
#include <utility>

#include "verify/failing_case.h"
#include "verify/generators/case_spec.h"
#include "verify/indented.h"
#include "verify/repeated_trials.h"

namespace recto::verify {
namespace {

// Where failures go.
struct Telling {
  LawCount& count;  // of the attempt
  std::vector<std::string>& failures;
  TrialsLeft& trials_left;
  std::int64_t& cut_short;     // LawReport::cut_short
  const RecentChecks& recent;  // made before the attempt
};

// Whether the case is one of those shown.
bool is_shown(const FailureCount& counted, const FailingCase& smallest) {
  const DescribedCase& described = smallest.described;
  if (smallest.lost || !described.spec || !described.after.empty()) return false;
  return std::ranges::any_of(counted.shown_specs,
                             [&](const auto& shown) { return *shown == *described.spec; });
}

// Keeps and reports the case, unless it is one of those shown.
void show(const Attempt& attempt, FailingCase& smallest, Telling& telling) {
  const auto& [law, backend, drawn, options] = attempt;
  DescribedCase& described = smallest.described;
  FailureCount& counted = telling.count.failures[smallest.verdict.kind()];
  if (is_shown(counted, smallest)) {
    ++counted.shrunk_to_shown;
    return;
  }
  ++counted.shown;
  if (described.spec && described.after.empty()) counted.shown_specs.push_back(described.spec);
  if (smallest.is_cut_short || !smallest.fails_again) ++telling.cut_short;
  if (options.keep) described.replay = options.keep(law, backend, described, smallest.verdict);
  telling.failures.push_back(failure_text(law, backend, described, smallest.verdict));
}

// Shrinks and shows the case, then the failures of unreported kinds met while shrinking.
// Returns why nothing can run any more, or nothing.
std::optional<std::string> tell(const Attempt& attempt, FailingCase failing, Telling& telling) {
  const auto& [law, backend, described, options] = attempt;
  TrialBudget budget(options, telling.trials_left);
  FailingCases others;
  FailingCase smallest = failing_again(attempt, std::move(failing), telling.recent, budget, others);
  const bool held_alone = smallest.held_alone;
  if (smallest.fails_again) smallest = shrunk(attempt, std::move(smallest), budget, others);
  telling.trials_left = budget.left();
  if (held_alone) {  // few more trials, even if shrinking took all that it may
    TrialBudget more(options, telling.trials_left);
    smallest = tried_repeatedly(attempt, std::move(smallest), more);
    telling.trials_left = more.left();
  }
  show(attempt, smallest, telling);
  if (smallest.lost) {
    telling.failures.back() += fmt::format("nothing was run after it\n  {}\n", *smallest.lost);
    return fmt::format("law {} on {}: {}", law.name, backend.name, *smallest.lost);
  }
  for (auto& [kind, other] : others) {
    FailureCount& counted = telling.count.failures[kind];
    if (counted.shown > 0) continue;
    ++counted.met_shrinking;
    std::optional<std::string> lost = tell(attempt, std::move(other), telling);
    if (lost) return lost;
  }
  return std::nullopt;
}

// Returns why nothing can run any more, or nothing.
std::optional<std::string> try_case(const Attempt& attempt, Telling telling) {
  LawCount& count = telling.count;
  const auto& [law, backend, described, options] = attempt;
  const LawVerdict verdict = verdict_for_sure(attempt, telling.recent);
  if (verdict.skipped) {
    ++count.skipped[*verdict.skipped];
    return std::nullopt;
  }
  if (options.after_each) options.after_each(law, backend, described);
  for (const std::string& part : verdict.skipped_parts) ++count.skipped_parts[part];
  count.worst_ratio = std::max(count.worst_ratio, verdict.comparison.worst_ratio);
  // Failures that are not about numbers have no error to put in relation to a bound.
  if (verdict.thrown || verdict.found) count.worst_ratio = std::numeric_limits<double>::infinity();
  count.elements += verdict.comparison.elements;
  count.by_bits += verdict.comparison.by_bits;
  if (!verdict.failed()) {
    ++count.held;
    return std::nullopt;
  }
  FailingCase failing = failing_case(attempt, described, verdict);
  ++count.failed;
  FailureCount& of_kind = count.failures[verdict.kind()];
  ++of_kind.cases;
  const std::int64_t made_small = of_kind.shown + of_kind.shrunk_to_shown;
  if (made_small >= options.failures_kept && !failing.lost) return std::nullopt;
  return tell(attempt, std::move(failing), telling);
}

std::int64_t skipped_cases(const LawCount& count) {
  std::int64_t cases = 0;
  for (const auto& [reason, number] : count.skipped) cases += number;
  return cases;
}

// `is_late`: another law has failed so on the same case.
std::optional<std::string> why_not_tried(const Attempt& attempt,
                                         const std::optional<std::string>& lost, bool is_late) {
  if (lost) return "not run: the run ended with " + *lost;
  if (is_late) return "a call of it for this case did not come back";
  const auto& [law, backend, described, options] = attempt;
  return options.why_left_out ? options.why_left_out(law, backend, described) : std::nullopt;
}

std::int64_t cases_late(const LawCount& count) {
  const auto late = count.failures.find(kTimeOut);
  return late == count.failures.end() ? 0 : late->second.cases;
}

}  // namespace

const char* LawCount::held_to() const {
  if (by_bits == 0) return "bound";
  return by_bits == elements ? "bits" : "both";
}

std::int64_t LawReport::failed() const {
  std::int64_t cases = 0;
  for (const LawCount& count : counts) cases += count.failed;
  return cases;
}

std::vector<std::string> LawReport::untried_backends() const {
  std::map<std::string, std::int64_t> ran;
  for (const LawCount& count : counts) ran[count.backend] += count.ran();
  std::vector<std::string> untried;
  for (const auto& [backend, cases] : ran)
    if (cases == 0) untried.push_back(backend);
  return untried;
}

bool LawReport::passed() const {
  return !counts.empty() && failed() == 0 && untried_backends().empty();
}

std::string LawReport::table() const {
  std::string text = fmt::format("{:<20} {:<22} {:>6} {:>6} {:>8} {:>13}\n", "law", "backend",
                                 "held", "failed", "skipped", "worst / bound");
  std::map<std::string, std::int64_t> reasons;
  std::map<std::string, std::int64_t> parts;
  for (const LawCount& count : counts) {
    text += fmt::format("{:<20} {:<22} {:>6} {:>6} {:>8} {:>13.3g}\n", count.law, count.backend,
                        count.held, count.failed, skipped_cases(count), count.worst_ratio);
    for (const auto& [reason, cases] : count.skipped) reasons[count.law + ": " + reason] += cases;
    for (const auto& [part, cases] : count.skipped_parts) parts[count.law + ": " + part] += cases;
  }
  for (const auto& [reason, cases] : reasons)
    text += fmt::format("skipped {:>6}  {}\n", cases, reason);
  for (const auto& [part, cases] : parts)
    text += fmt::format("skipped {:>6}  in part, {}\n", cases, part);
  for (const std::string& backend : untried_backends())
    text += fmt::format("untried         {}: every case was skipped\n", backend);
  if (lost) text += fmt::format("ended early     with {}\n", *lost);
  return text;
}

void LawReport::print(std::ostream& out) const {
  out << table();
  for (const std::string& failure : failures) out << failure;
  out << std::flush;
}

LawReport run_laws(const std::vector<Law>& laws, const std::vector<Backend>& backends,
                   const CaseSource& next_case, const LawRunOptions& options) {
  LawReport report;
  for (const Law& law : laws) {
    for (const Backend& backend : backends) {
      LawCount count;
      count.law = law.name;
      count.backend = backend.name;
      report.counts.push_back(count);
    }
  }
  TrialsLeft trials_left{.work = options.shrinking_work, .seconds = options.all_shrinking_seconds};
  RecentChecks recent;
  while (!report.lost) {
    std::optional<DescribedCase> next = next_case();
    if (!next) break;
    const auto described = std::make_shared<const DescribedCase>(*std::move(next));
    auto count = report.counts.begin();
    std::set<const Backend*> late;  // in this case: other laws would wait for the same
    for (const Law& law : laws) {
      for (const Backend& backend : backends) {
        LawCount& counted = *count++;
        if (!report.lost && options.before_each) options.before_each(law, backend);
        const Attempt attempt{law, backend, *described, options};
        if (const auto why = why_not_tried(attempt, report.lost, late.contains(&backend))) {
          ++counted.skipped[*why];
          continue;
        }
        const std::size_t told = report.failures.size();
        const std::int64_t time_outs = cases_late(counted);
        report.lost =
            try_case(attempt, {counted, report.failures, trials_left, report.cut_short, recent});
        if (cases_late(counted) > time_outs) late.insert(&backend);
        if (!backend.restart) continue;
        if (report.failures.size() == told) {
          recent.add({&law, &backend, described});
        } else {  // trials of shrinking came between
          backend.restart();
          recent = {};
        }
        if (backend.end_trials) backend.end_trials();
      }
    }
  }
  return report;
}

LawVerdict verdict_of(const Law& law, const Backend& backend, const LawCase& law_case,
                      BoundKind bound_kind) {
  LawVerdict verdict;
  if (backend.take_printed) backend.take_printed();
  try {
    verdict.skipped = law.why_not_applicable(law_case);
    if (verdict.skipped) return verdict;
    verdict = law.check(as_placed(backend, law_case.placement), law_case, bound_kind);
    if (!verdict.skipped && verdict.comparison.elements == 0)
      verdict.skipped = "nothing to compare";
  } catch (const FailureOfKind& failure) {
    verdict.thrown = failure.what();
    verdict.thrown_kind = failure.kind;
    verdict.thrown_cause = failure.cause;
  } catch (const std::exception& exception) {
    verdict.thrown = exception.what();
  } catch (...) {
    verdict.thrown = "something that is no std::exception";
  }
  const bool is_wrong = !verdict.skipped && !verdict.thrown && verdict.failed();
  if (is_wrong && backend.take_printed) verdict.printed = backend.take_printed();
  return verdict;
}

DescribedCase shrink_failure(const Law& law, const Backend& backend, const DescribedCase& failing,
                             const LawRunOptions& options) {
  TrialBudget budget(
      options, {.work = 4 * options.shrinking_work, .seconds = options.all_shrinking_seconds});
  const Attempt attempt{law, backend, failing, options};
  FailingCase first = failing_case(attempt, failing, verdict_again(attempt, failing));
  FailingCases others;
  return shrunk(attempt, std::move(first), budget, others).described;
}

std::string failure_text(const Law& law, const Backend& backend, const DescribedCase& described,
                         const LawVerdict& verdict) {
  const std::string remark =
      described.remark.empty() ? "" : fmt::format("fails\n{}\n", indented(described.remark));
  return fmt::format("law {} is broken by {}\n  {}\ncase\n{}\n{}\n{}\n{}replay\n  {}\n", law.name,
                     backend.name, law.statement, indented(described.description),
                     verdict.heading(), indented(verdict.details()), remark, described.replay);
}

}  // namespace recto::verify

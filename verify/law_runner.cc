#include "verify/law_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "verify/cases/case_spec.h"
#include "verify/quoted_text.h"
#include "verify/reducer.h"

namespace recto::verify {
namespace {

// A law, a backend, and their counts.
struct Pair {
  const Law& law;
  const Backend& backend;
  LawCount count = {};
  PrecedingCases preceding = {};
};

class LawRun {
 public:
  LawRun(const std::vector<Law>& laws, const std::vector<Backend>& backends,
         const LawRunOptions& options)
      : options_(options),
        trials_left_{.work = options.shrinking_work, .seconds = options.all_shrinking_seconds} {
    for (const Law& law : laws)
      for (const Backend& backend : backends)
        pairs_.push_back({law, backend, {.law = law.name, .backend = backend.name}});
  }

  LawReport over(const CaseSource& next_case) {
    while (!report_.lost) {
      std::optional<DescribedCase> next = next_case();
      if (!next) break;
      check_all(std::make_shared<const DescribedCase>(*std::move(next)));
    }
    for (Pair& pair : pairs_) report_.counts.push_back(std::move(pair.count));
    return std::move(report_);
  }

 private:
  // Checks each law on each backend with the case.
  void check_all(const std::shared_ptr<const DescribedCase>& described) {
    std::set<const Backend*> timed_out;  // in this case: other laws would wait as long
    for (Pair& pair : pairs_) {
      if (options_.is_meant_for && !options_.is_meant_for(pair.law, pair.backend)) continue;
      if (!report_.lost && options_.before_each) options_.before_each(pair.law, pair.backend);
      if (const auto why = why_not_checked(pair, *described, timed_out)) {
        ++pair.count.skipped[*why];
        continue;
      }
      has_run_trials_ = false;
      const LawVerdict verdict = confirmed_verdict(pair, *described);
      if (!verdict.skipped && options_.after_each)
        options_.after_each(pair.law, pair.backend, *described, verdict);
      count(verdict, pair.count);
      if (!verdict.skipped && verdict.failed()) reduce_if_new(pair, *described, verdict);
      if (verdict.call_failure && verdict.kind() == kTimeOut) timed_out.insert(&pair.backend);
      if (!pair.backend.restart) continue;
      pair.preceding.add(described);
      if (!has_run_trials_) continue;
      pair.backend.restart(CallsAre::kOfDrawnCases);
      for (Pair& each : pairs_) each.preceding = {};
    }
  }

  std::optional<std::string> why_not_checked(const Pair& pair, const DescribedCase& described,
                                             const std::set<const Backend*>& timed_out) const {
    if (report_.lost) return "not run: the run ended with " + *report_.lost;
    if (timed_out.contains(&pair.backend)) return "one of its calls for this case did not return";
    if (!options_.why_left_out) return std::nullopt;
    return options_.why_left_out(pair.law, pair.backend, described);
  }

  // If a call exceeded its time limit and the machine may be to blame, runs the case again on the
  // restarted backend, after the same preceding cases; the second verdict counts.
  LawVerdict confirmed_verdict(const Pair& pair, const DescribedCase& described) {
    LawVerdict verdict =
        verdict_of(pair.law, pair.backend, described.law_case, options_.bound_kind);
    const bool is_sure = !verdict.call_failure || !verdict.call_failure->may_be_machine;
    if (is_sure || !pair.backend.restart) return verdict;
    has_run_trials_ = true;
    DescribedCase again = described;
    again.after = pair.preceding.all();
    LawVerdict second = verdict_of_trial({pair.law, pair.backend, options_}, again);
    if (second.skipped) return verdict;
    if (!second.call_failure) ++report_.timed_out_once;
    return second;
  }

  static void count(const LawVerdict& verdict, LawCount& count) {
    if (verdict.skipped) {
      ++count.skipped[*verdict.skipped];
      return;
    }
    for (const std::string& part : verdict.skipped_parts) ++count.skipped_parts[part];
    count.worst_ratio = std::max(count.worst_ratio, verdict.comparison.worst_ratio);
    // Failures that are not about numbers have no ratio of error to bound.
    if (verdict.call_failure || verdict.found)
      count.worst_ratio = std::numeric_limits<double>::infinity();
    count.elements += verdict.comparison.elements;
    count.by_bits += verdict.comparison.by_bits;
    ++(verdict.failed() ? count.failed : count.held);
    if (verdict.failed()) ++count.failures[verdict.kind()].cases;
  }

  // Reduces the first failures of each kind; later ones are only counted.
  void reduce_if_new(Pair& pair, const DescribedCase& described, const LawVerdict& verdict) {
    const Check check{pair.law, pair.backend, options_};
    FailingCase failing = failing_case(check, described, verdict);
    const FailureCount& of_kind = pair.count.failures[verdict.kind()];
    const std::int64_t made_small = of_kind.shown + of_kind.shrunk_to_shown;
    if (made_small < options_.failures_kept || failing.lost)
      reduce_and_show(check, std::move(failing), pair);
  }

  // Also shows failures of new kinds found while reducing.
  void reduce_and_show(const Check& check, FailingCase failing, Pair& pair) {
    has_run_trials_ = true;
    FailingCases others;
    failing = small_one(check, std::move(failing));
    show(check, reduced(check, std::move(failing), pair.preceding, trials_left_, others), pair);
    for (auto& [kind, other] : others) {
      FailureCount& counted = pair.count.failures[kind];
      if (report_.lost || counted.shown > 0) continue;
      ++counted.met_shrinking;
      reduce_and_show(check, std::move(other), pair);
    }
  }

  // The failing case, or one that is shown for another law and fails in the same way.
  FailingCase small_one(const Check& check, FailingCase failing) const {
    const auto known = shown_.find(&check.backend);
    if (!options_.begins_at_shown_cases || failing.lost || known == shown_.end()) return failing;
    for (const DescribedCase& shown : known->second) {
      LawVerdict verdict = verdict_of_trial(check, shown);
      const bool is_same = !verdict.skipped && verdict.kind() == failing.verdict.kind();
      if (is_same && verdict.failed()) return failing_case(check, shown, std::move(verdict));
    }
    return failing;
  }

  // Keeps and reports the case, unless an equal one was shown.
  void show(const Check& check, FailingCase smallest, Pair& pair) {
    DescribedCase& described = smallest.described;
    FailureCount& counted = pair.count.failures[smallest.verdict.kind()];
    const bool is_plain = described.spec && described.after.empty();
    const auto is_it = [&](const auto& shown) { return *shown == *described.spec; };
    if (is_plain && !smallest.lost && std::ranges::any_of(counted.shown_specs, is_it)) {
      ++counted.shrunk_to_shown;
      return;
    }
    ++counted.shown;
    if (is_plain) counted.shown_specs.push_back(described.spec);
    std::vector<DescribedCase>& shown = shown_[&check.backend];
    const bool is_known = std::ranges::any_of(shown, [&](const DescribedCase& each) {
      return described.spec && *each.spec == *described.spec;
    });
    if (is_plain && !smallest.is_cut_short && !is_known) shown.push_back(described);
    if (smallest.is_cut_short) ++report_.cut_short;
    if (options_.keep)
      described.replay = options_.keep(check.law, check.backend, described, smallest.verdict);
    report_.failures.push_back(failure_text(check.law, check.backend, described, smallest.verdict));
    if (!smallest.lost) return;
    report_.failures.back() += fmt::format("nothing was run after it\n  {}\n", *smallest.lost);
    report_.lost =
        fmt::format("law {} on {}: {}", check.law.name, check.backend.name, *smallest.lost);
  }

  const LawRunOptions& options_;
  std::vector<Pair> pairs_;
  TrialsLeft trials_left_;
  std::map<const Backend*, std::vector<DescribedCase>> shown_;  // that need no cases before them
  bool has_run_trials_ = false;                                 // since the last check began
  LawReport report_;
};

std::int64_t skipped_cases(const LawCount& count) {
  std::int64_t cases = 0;
  for (const auto& [reason, number] : count.skipped) cases += number;
  return cases;
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
  return LawRun(laws, backends, options).over(next_case);
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

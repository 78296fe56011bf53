#include "verify/repeated_trials.h"

#include <fmt/format.h>

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace recto::verify {
namespace {

// Of each sort. A fault of chance would hold in all those alone, and fail in all those after other
// checks, once in 1024 times at most: where it fails in half of all calls.
constexpr int kTrials = 5;

struct Trials {
  int made = 0;
  int failed = 0;  // in the same way

  std::string text() const { return fmt::format("{} of {} times", failed, made); }
};

struct RepeatedTrials {
  Trials alone = {};
  Trials after = {};                           // after its checks
  std::optional<LawVerdict> other_alone = {};  // that it does not fail so
  std::optional<FailingCase> failed_alone = {};
  std::optional<FailingCase> lost = {};
};

// Whether there is still time for the next trial.
bool try_once(const Attempt& attempt, const DescribedCase& described, const std::string& kind,
              TrialBudget& budget, RepeatedTrials& trials) {
  if (!budget.has(1)) return false;
  budget.take(described);
  const bool is_alone = described.after.empty();
  LawVerdict verdict = verdict_again(attempt, described, &budget);
  if (verdict.skipped && !is_alone && budget.is_late()) return false;
  Trials& counted = is_alone ? trials.alone : trials.after;
  ++counted.made;
  const bool is_failure = !verdict.skipped && verdict.failed();
  const bool is_same = is_failure && verdict.kind() == kind;
  if (is_alone && !is_same && (is_failure || !trials.other_alone)) trials.other_alone = verdict;
  if (!is_failure) return true;
  FailingCase failing = failing_case(attempt, described, std::move(verdict));
  if (failing.lost) {
    trials.lost = std::move(failing);
    return false;
  }
  if (!is_same) return true;
  ++counted.failed;
  if (is_alone && !trials.failed_alone) trials.failed_alone = std::move(failing);
  return true;
}

RepeatedTrials trials_of(const Attempt& attempt, const FailingCase& failing, TrialBudget& budget) {
  RepeatedTrials trials;
  const std::string kind = failing.verdict.kind();
  DescribedCase alone = failing.described;
  alone.after = {};
  const bool has_checks = !failing.described.after.empty();
  for (int i = 0; i < kTrials; ++i) {
    if (!try_once(attempt, alone, kind, budget, trials)) break;
    if (has_checks && !try_once(attempt, failing.described, kind, budget, trials)) break;
  }
  return trials;
}

std::string list_text(const std::vector<MadeCheck>& after) {
  std::string text;
  for (std::size_t i = 0; i < after.size();) {
    const MadeCheck& check = after[i];
    std::size_t times = 0;
    for (; i < after.size() && after[i].law == check.law && after[i].backend == check.backend &&
           after[i].described == check.described;
         ++i)
      ++times;
    text += fmt::format("\n{} on {},{} of\n{}", check.law->name, check.backend->name,
                        times == 1 ? "" : fmt::format(" {} times,", times),
                        check.described->description);
  }
  return text;
}

std::string remark_on_checks(const std::vector<MadeCheck>& after, const RepeatedTrials& trials,
                             const std::string& end) {
  const std::string checks = after.size() == 1
                                 ? "1 other check"
                                 : fmt::format("{} other checks, in this order", after.size());
  const bool are_all = trials.alone.made == kTrials && trials.after.made == kTrials;
  const bool may_be_only = trials.alone.failed == 0 && trials.after.failed == trials.after.made;
  if (may_be_only && are_all) {
    return fmt::format("only after other calls: {}, and fails there after\n{}:{}",
                       alone_text(*trials.other_alone), checks, list_text(after));
  }
  return fmt::format("{}: {}, and\n{} after {}{}:{}",
                     may_be_only ? "perhaps only after other calls" : "not each time",
                     trials.alone.made == 0
                         ? "it has not failed so alone in a new process"
                         : "alone in a new process it failed " + trials.alone.text(),
                     trials.after.made == 0 ? "has failed" : trials.after.text(), checks,
                     are_all ? "" : end, list_text(after));
}

// Of a case that has held alone, and has failed.
std::string remark_on_alone(const Trials& alone, const std::string& end) {
  if (alone.failed == kTrials) return "";
  if (alone.made == 0)
    return "not each time: alone in a new process it has held, and has failed" + end;
  return fmt::format("{}not each time: alone in a new process it failed {}{}",
                     alone.failed == alone.made ? "perhaps " : "", alone.text(),
                     alone.made == kTrials ? "" : end);
}

}  // namespace

std::string alone_text(const LawVerdict& alone) {
  if (alone.skipped)
    return fmt::format("it is skipped alone in a new process ({})", *alone.skipped);
  return alone.failed() ? "it fails in another way alone in a new process"
                        : "it holds alone in a new process";
}

FailingCase tried_repeatedly(const Attempt& attempt, FailingCase failing, TrialBudget& budget) {
  RepeatedTrials trials;
  if (!failing.lost) trials = trials_of(attempt, failing, budget);
  if (trials.lost) failing = *std::move(trials.lost);
  if (!failing.lost && trials.failed_alone && trials.alone.failed >= trials.after.failed) {
    trials.failed_alone->is_cut_short = failing.is_cut_short;
    failing = *std::move(trials.failed_alone);
  }
  const std::vector<MadeCheck>& after = failing.described.after;
  const std::string end = failing.lost ? "; nothing can run any more"
                                       : "; more trials were ended " + budget.end_text(kTrials);
  std::string remark =
      after.empty() ? remark_on_alone(trials.alone, end) : remark_on_checks(after, trials, end);
  std::string& before = failing.described.remark;
  if (!remark.empty() && !before.empty()) remark += "\n";
  before = remark + before;
  return failing;
}

}  // namespace recto::verify

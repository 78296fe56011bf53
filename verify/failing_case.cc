#include "verify/failing_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "verify/case_work.h"

namespace recto::verify {
namespace {

// Of the checks that are kept, in case a failure needs some of them before it.
constexpr std::size_t kChecksMax = 64;
constexpr std::int64_t kNumbersMax = std::int64_t{1} << 26;
constexpr std::int64_t kTrialsAgain = 100;

std::int64_t numbers_in(const MadeCheck& check) {
  std::size_t numbers = 0;
  for (const SequenceProblem& sequence : check.described->law_case.problem.sequences)
    numbers += sequence.q.size() + sequence.k.size() + sequence.v.size();
  return static_cast<std::int64_t>(numbers);
}

// Whether the case fails in a restarted backend, in the same way as `failing`, after these checks;
// it then becomes `failing`.
bool fails_after(const Attempt& attempt, FailingCase& failing, std::vector<MadeCheck> checks,
                 TrialBudget& budget) {
  DescribedCase described = failing.described;
  described.after = std::move(checks);
  budget.take(described);
  LawVerdict verdict = verdict_again(attempt, described);
  if (verdict.skipped || !verdict.failed() || verdict.kind() != failing.verdict.kind())
    return false;
  failing = failing_case(attempt, std::move(described), std::move(verdict));
  return true;
}

// Leaves out those of the checks before a case without which it fails as well.
void leave_out_checks(const Attempt& attempt, FailingCase& failing, TrialBudget& budget,
                      std::int64_t trials_left) {
  for (std::size_t part = failing.described.after.size(); part > 0; part /= 2) {
    for (std::size_t begin = 0; begin < failing.described.after.size() && !failing.lost;) {
      if (!budget.has(trials_left--)) return;
      std::vector<MadeCheck> fewer = failing.described.after;
      const std::size_t end = std::min(begin + part, fewer.size());
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(begin),
                  fewer.begin() + static_cast<std::ptrdiff_t>(end));
      if (!fails_after(attempt, failing, std::move(fewer), budget)) begin = end;
    }
  }
}

std::string remark_on(const std::vector<MadeCheck>& after) {
  if (after.empty()) return "not each time: alone in a new process it has held, and has failed";
  std::string text = fmt::format(
      "only after other calls: it holds alone in a new process, and fails there after\n{} other {}",
      after.size(), after.size() == 1 ? "check:" : "checks, in this order:");
  for (const MadeCheck& check : after)
    text += fmt::format("\n{} on {}, of\n{}", check.law->name, check.backend->name,
                        check.described->description);
  return text;
}

}  // namespace

FailingCase failing_case(const Attempt& attempt, DescribedCase described, LawVerdict verdict) {
  FailingCase failing{.described = std::move(described), .verdict = std::move(verdict)};
  if (attempt.options.why_lost) failing.lost = attempt.options.why_lost();
  return failing;
}

void RecentChecks::add(MadeCheck check) {
  numbers_ += numbers_in(check);
  checks_.push_back(std::move(check));
  while (!checks_.empty() && (checks_.size() > kChecksMax || numbers_ > kNumbersMax)) {
    numbers_ -= numbers_in(checks_.front());
    checks_.pop_front();
  }
}

TrialBudget::TrialBudget(const LawRunOptions& options, std::int64_t work)
    : work_left_(work), clock_(options.clock) {
  if (clock_) end_ = clock_() + options.shrinking_seconds;
}

void TrialBudget::take(const DescribedCase& described) {
  work_left_ -= case_work(described.law_case.problem);
  for (const MadeCheck& check : described.after)
    work_left_ -= case_work(check.described->law_case.problem);
}

LawVerdict verdict_again(const Attempt& attempt, const DescribedCase& described) {
  const BoundKind bound_kind = attempt.options.bound_kind;
  if (attempt.backend.restart) attempt.backend.restart();
  for (const MadeCheck& check : described.after)
    verdict_of(*check.law, *check.backend, check.described->law_case, bound_kind);
  return verdict_of(attempt.law, attempt.backend, described.law_case, bound_kind);
}

FailingCase failing_again(const Attempt& attempt, FailingCase failing, const RecentChecks& recent,
                          TrialBudget& budget, FailingCases& others) {
  if (!attempt.backend.restart || failing.lost) return failing;
  LawVerdict alone = verdict_again(attempt, failing.described);
  if (alone.skipped) return failing;  // the backend no longer takes it
  if (alone.failed()) {
    FailingCase again = failing_case(attempt, failing.described, std::move(alone));
    if (again.lost || again.verdict.kind() == failing.verdict.kind()) return again;
    others.try_emplace(again.verdict.kind(), std::move(again));
  }
  const std::vector<MadeCheck> checks(recent.all().begin(), recent.all().end());
  std::int64_t trials_left = kTrialsAgain;
  std::size_t tried = 0;
  while (tried < checks.size() && budget.has(trials_left--)) {
    tried = std::min(std::max<std::size_t>(1, 2 * tried), checks.size());
    if (!fails_after(attempt, failing,
                     {checks.end() - static_cast<std::ptrdiff_t>(tried), checks.end()}, budget))
      continue;
    leave_out_checks(attempt, failing, budget, trials_left);
    failing.described.remark = remark_on(failing.described.after);
    return failing;
  }
  failing.fails_again = false;
  failing.described.remark = fmt::format(
      "once, and not again: it holds in a new process, alone and after the {} checks before it, so "
      "that its replay may hold, too",
      tried);
  return failing;
}

FailingCase shrunk(const Attempt& attempt, FailingCase smallest, TrialBudget& budget,
                   FailingCases& others) {
  const std::string kind = smallest.verdict.kind();
  std::int64_t trials_left = attempt.options.shrinking_trials;
  for (bool found = true; found && !smallest.lost;) {
    found = false;
    if (!smallest.described.simpler_cases) return smallest;
    for (const std::function<DescribedCase()>& make : smallest.described.simpler_cases()) {
      if (!budget.has(trials_left--)) {
        if (budget.is_late()) {
          smallest.described.remark += fmt::format(
              "{}not as small as it gets: making it smaller was ended after {} s",
              smallest.described.remark.empty() ? "" : "\n", attempt.options.shrinking_seconds);
        }
        return smallest;
      }
      DescribedCase simpler = make();
      simpler.after = smallest.described.after;
      simpler.remark = smallest.described.remark;
      budget.take(simpler);
      LawVerdict verdict = verdict_again(attempt, simpler);
      if (verdict.skipped || !verdict.failed()) continue;
      FailingCase failing = failing_case(attempt, std::move(simpler), std::move(verdict));
      found = failing.lost || failing.verdict.kind() == kind;
      if (!found) {
        others.try_emplace(failing.verdict.kind(), std::move(failing));
        continue;
      }
      smallest = std::move(failing);
      break;
    }
  }
  return smallest;
}

}  // namespace recto::verify

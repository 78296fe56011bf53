#include "verify/failing_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "verify/case_work.h"
#include "verify/repeated_trials.h"

namespace recto::verify {
namespace {

// Of the checks that are kept, in case a failure needs some of them before it.
constexpr std::size_t kChecksMax = 64;
constexpr std::int64_t kNumbersMax = std::int64_t{1} << 26;
constexpr std::int64_t kTrialsAgain = 100;
// Each failing case gets at least this much work for its trials: enough for those of a small case.
constexpr std::int64_t kLeastWork = 50'000'000;

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
  LawVerdict verdict = verdict_again(attempt, described, &budget);
  if (verdict.skipped || !verdict.failed() || verdict.kind() != failing.verdict.kind())
    return false;
  failing = failing_case(attempt, std::move(described), std::move(verdict));
  return true;
}

// Whether it fails in the same way where it is put to a restarted backend again and again; it then
// comes after itself, so many times. That finds what each 20th call brings about, say, be the
// others answered or refused.
bool fails_after_itself(const Attempt& attempt, FailingCase& failing, TrialBudget& budget) {
  const auto itself = std::make_shared<const DescribedCase>(failing.described);
  std::vector<MadeCheck> before;
  attempt.backend.restart();
  while (before.size() < kChecksMax && budget.has(1)) {
    budget.take(*itself);
    LawVerdict verdict =
        verdict_of(attempt.law, attempt.backend, itself->law_case, attempt.options.bound_kind);
    const bool is_same = verdict.failed() && verdict.kind() == failing.verdict.kind();
    if (is_same && !before.empty()) {
      failing.described.after = std::move(before);
      failing = failing_case(attempt, failing.described, std::move(verdict));
      return true;
    }
    if (verdict.failed()) return false;
    before.push_back({&attempt.law, &attempt.backend, itself});
  }
  return false;
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

// Whether the case fails after the last of the recent checks, twice as many in each trial; `tried`
// is how many of them were.
bool fails_after_recent(const Attempt& attempt, FailingCase& failing, const RecentChecks& recent,
                        TrialBudget& budget, std::size_t& tried) {
  const std::vector<MadeCheck> checks(recent.all().begin(), recent.all().end());
  std::int64_t trials_left = kTrialsAgain;
  while (tried < checks.size() && budget.has(trials_left--)) {
    tried = std::min(std::max<std::size_t>(1, 2 * tried), checks.size());
    if (!fails_after(attempt, failing,
                     {checks.end() - static_cast<std::ptrdiff_t>(tried), checks.end()}, budget))
      continue;
    leave_out_checks(attempt, failing, budget, trials_left);
    return true;
  }
  return false;
}

std::string remark_on_one(std::size_t tried, const LawVerdict& alone, const TrialBudget& budget) {
  if (!budget.has(1)) {
    return fmt::format(
        "once so far: {}, and looking for the calls that it takes before it\nwas ended {}, so that "
        "its replay may hold, too",
        alone_text(alone), budget.end_text(kTrialsAgain));
  }
  return fmt::format(
      "once, and not again: {}, and does not fail after the {} checks before it, so that its "
      "replay "
      "may hold, too",
      alone_text(alone), tried);
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

TrialBudget::TrialBudget(const LawRunOptions& options, const TrialsLeft& left)
    : options_(options),
      before_(left),
      work_(std::max(kLeastWork, left.work / 4)),
      work_left_(work_),
      clock_(options.clock),
      seconds_(std::min(options.shrinking_seconds, left.seconds)) {
  if (clock_) begin_ = clock_();
}

TrialsLeft TrialBudget::left() const {
  TrialsLeft left = before_;
  left.work -= work_ - work_left_;
  if (clock_) left.seconds = std::max(0.0, left.seconds - (clock_() - begin_));
  return left;
}

std::string TrialBudget::end_text(std::int64_t trials) const {
  if (is_late() && seconds_ < options_.shrinking_seconds)
    return fmt::format("after {} s of all failing cases together", options_.all_shrinking_seconds);
  if (is_late()) return fmt::format("after {} s", options_.shrinking_seconds);
  if (work_left_ <= 0) return "after as much work as its trials may be";
  return fmt::format("after {} trials", trials);
}

void TrialBudget::take(const DescribedCase& described) {
  work_left_ -= case_work(described.law_case.problem);
  for (const MadeCheck& check : described.after)
    work_left_ -= case_work(check.described->law_case.problem);
}

LawVerdict verdict_again(const Attempt& attempt, const DescribedCase& described,
                         const TrialBudget* budget) {
  const BoundKind bound_kind = attempt.options.bound_kind;
  if (attempt.backend.restart) attempt.backend.restart();
  for (const MadeCheck& check : described.after) {
    LawVerdict before =
        verdict_of(*check.law, *check.backend, check.described->law_case, bound_kind);
    if (before.thrown && before.kind() == kTimeOut) {
      before.skipped = "a check before it did not come back";
      return before;
    }
    if (budget == nullptr || !budget->is_late()) continue;
    before.skipped = "no time is left";
    return before;
  }
  return verdict_of(attempt.law, attempt.backend, described.law_case, bound_kind);
}

LawVerdict verdict_for_sure(const Attempt& attempt, const RecentChecks& recent) {
  const auto& [law, backend, described, options] = attempt;
  LawVerdict verdict = verdict_of(law, backend, described.law_case, options.bound_kind);
  if (verdict.thrown_cause != FailureCause::kPerhapsMachine || !backend.restart) return verdict;
  DescribedCase again = described;
  again.after.assign(recent.all().begin(), recent.all().end());
  LawVerdict second = verdict_again(attempt, again);
  return second.skipped ? verdict : second;
}

FailingCase failing_again(const Attempt& attempt, FailingCase failing, const RecentChecks& recent,
                          TrialBudget& budget, FailingCases& others) {
  if (!attempt.backend.restart || failing.lost) return failing;
  LawVerdict alone = verdict_again(attempt, failing.described);
  if (!alone.skipped && alone.failed()) {
    FailingCase again = failing_case(attempt, failing.described, alone);
    if (again.lost || again.verdict.kind() == failing.verdict.kind()) return again;
    others.try_emplace(again.verdict.kind(), std::move(again));
  }
  // A trial that does not come back takes long: those after checks of other kinds come last then.
  const bool is_time_out = failing.verdict.kind() == kTimeOut;
  std::size_t tried = 0;
  if ((is_time_out && fails_after_itself(attempt, failing, budget)) ||
      fails_after_recent(attempt, failing, recent, budget, tried) ||
      (!is_time_out && fails_after_itself(attempt, failing, budget))) {
    failing.held_alone = true;
    return failing;
  }
  failing.fails_again = false;
  failing.is_cut_short = !budget.has(1);
  failing.described.remark = remark_on_one(tried, alone, budget);
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
        smallest.is_cut_short = true;
        smallest.described.remark +=
            fmt::format("{}perhaps not as small as it gets: making it smaller was ended {}",
                        smallest.described.remark.empty() ? "" : "\n",
                        budget.end_text(attempt.options.shrinking_trials));
        return smallest;
      }
      DescribedCase simpler = make();
      simpler.after = smallest.described.after;
      simpler.remark = smallest.described.remark;
      budget.take(simpler);
      LawVerdict verdict = verdict_again(attempt, simpler, &budget);
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

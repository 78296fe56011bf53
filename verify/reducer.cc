#include "verify/reducer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace recto::verify {
namespace {

using Cases = std::vector<std::shared_ptr<const DescribedCase>>;

// Trials for finding out whether a case fails each time. A fault that fails at random in half of
// all calls would pass all trials alone and fail all trials after other cases with probability
// 1/1024.
constexpr int kTrialsOfChance = 5;

// The most numbers in all preceding cases together.
constexpr std::int64_t kNumbersMax = std::int64_t{1} << 26;

std::int64_t numbers_in(const DescribedCase& described) {
  std::size_t numbers = 0;
  for (const SequenceProblem& sequence : described.law_case.problem.sequences)
    numbers += sequence.q.size() + sequence.k.size() + sequence.v.size();
  return static_cast<std::int64_t>(numbers);
}

// "1 other case" or how many, followed by their descriptions.
std::string cases_text(const Cases& cases) {
  std::string text = cases.size() == 1
                         ? "1 other case:"
                         : fmt::format("{} other cases, in this order:", cases.size());
  for (std::size_t i = 0; i < cases.size();) {
    std::size_t times = 0;
    const auto& described = cases[i];
    for (; i < cases.size() && cases[i] == described; ++i) ++times;
    text += (times == 1 ? "\n" : fmt::format("\n{} times\n", times)) + described->description;
  }
  return text;
}

class Reducer {
 public:
  Reducer(const Check& check, FailingCase failing, TrialsLeft& left, FailingCases& others)
      : check_(check),
        kind_(failing.verdict.kind()),
        smallest_(std::move(failing)),
        left_(left),
        others_(others) {}

  FailingCase run(const PrecedingCases& preceding) {
    bool fails_alone = true;
    {
      TrialBudget budget(check_.options, left_);
      if (check_.backend.restart && !smallest_.lost) {
        fails_alone = is_reproduced_alone();
        if (!fails_alone && !is_reproduced_after(preceding.all(), budget)) return smallest_;
      }
      simplify(budget);
    }
    if (!fails_alone) count_failures();
    return std::move(smallest_);
  }

 private:
  // The failure of `described` if it fails in the same way or loses the device; else nothing.
  std::optional<FailingCase> same_failure(DescribedCase described, LawVerdict verdict) {
    if (verdict.skipped || !verdict.failed()) return std::nullopt;
    FailingCase failing = failing_case(check_, std::move(described), std::move(verdict));
    if (failing.lost || failing.verdict.kind() == kind_) return failing;
    others_.try_emplace(failing.verdict.kind(), std::move(failing));
    return std::nullopt;
  }

  std::optional<FailingCase> tried(const DescribedCase& candidate, TrialBudget& budget) {
    budget.take(candidate);
    return same_failure(candidate, verdict_of_trial(check_, candidate, &budget));
  }

  bool accepts(const DescribedCase& candidate, TrialBudget& budget) {
    std::optional<FailingCase> failing = tried(candidate, budget);
    if (failing) smallest_ = *std::move(failing);
    return failing.has_value();
  }

  bool is_reproduced_alone() {
    alone_ = verdict_of_trial(check_, smallest_.described);
    std::optional<FailingCase> failing = same_failure(smallest_.described, alone_);
    if (failing) smallest_ = *std::move(failing);
    return failing.has_value();
  }

  // Whether the case fails after repetitions of itself, or after the last preceding cases, twice as
  // many in each trial. If a call did not return, trials after other cases take long, and come
  // last.
  bool is_reproduced_after(const Cases& preceding, TrialBudget& budget) {
    const bool is_time_out = kind_ == kTimeOut;
    if (is_time_out && is_reproduced_after_itself(budget)) return true;
    std::size_t tried = 0;
    while (tried < preceding.size() && budget.has_more()) {
      tried = std::min(std::max<std::size_t>(1, 2 * tried), preceding.size());
      DescribedCase candidate = smallest_.described;
      candidate.after.assign(preceding.end() - static_cast<std::ptrdiff_t>(tried), preceding.end());
      if (accepts(candidate, budget)) return true;
    }
    if (!is_time_out && is_reproduced_after_itself(budget)) return true;
    smallest_.is_cut_short = true;
    smallest_.described.remark =
        budget.has_more()
            ? fmt::format(
                  "once, and not again: {}, and does not fail after the {} cases before "
                  "it, so that its\nreplay may pass",
                  alone_text(), tried)
            : fmt::format(
                  "once so far: {}, and the search for the cases that must precede it\nwas stopped "
                  "{}, so that its replay may pass",
                  alone_text(), budget.end_text());
    return false;
  }

  // Finds failures of, say, every 20th call, whether the calls before succeed or are refused.
  bool is_reproduced_after_itself(TrialBudget& budget) {
    const auto& [law, backend, options] = check_;
    const auto itself = std::make_shared<const DescribedCase>(smallest_.described);
    Cases before;
    backend.restart(CallsAre::kTrials);
    for (; before.size() < PrecedingCases::kMost && budget.has_more(); before.push_back(itself)) {
      budget.take(*itself);
      LawVerdict verdict = verdict_of(law, backend, itself->law_case, options.bound_kind);
      if (!verdict.failed()) continue;
      if (before.empty() || verdict.kind() != kind_) return false;
      DescribedCase described = *itself;
      described.after = std::move(before);
      smallest_ = failing_case(check_, std::move(described), std::move(verdict));
      return true;
    }
    return false;
  }

  // Drops preceding cases, then tries simpler cases, as long as the failure stays the same.
  void simplify(TrialBudget& budget) {
    for (bool found = true; found && !smallest_.lost;) {
      found = false;
      for (const std::function<DescribedCase()>& make : candidates()) {
        found = budget.has_more() && accepts(make(), budget);
        if (found) break;
        if (budget.has_more()) continue;
        smallest_.is_cut_short = true;
        std::string& remark = smallest_.described.remark;
        remark += (remark.empty() ? "" : "\n") +
                  ("perhaps not fully reduced: the reduction was stopped " + budget.end_text());
        return;
      }
    }
  }

  // Candidates simpler than the smallest case, most aggressive first.
  std::vector<std::function<DescribedCase()>> candidates() const {
    const DescribedCase& now = smallest_.described;
    std::vector<std::function<DescribedCase()>> makers;
    for (std::size_t part = now.after.size(); part > 0; part /= 2) {
      for (std::size_t begin = 0; begin < now.after.size(); begin += part) {
        makers.push_back([now, begin, part] {
          DescribedCase fewer = now;
          const auto first = fewer.after.begin() + static_cast<std::ptrdiff_t>(begin);
          const std::size_t end = std::min(begin + part, fewer.after.size());
          fewer.after.erase(first, fewer.after.begin() + static_cast<std::ptrdiff_t>(end));
          return fewer;
        });
      }
    }
    if (!now.simpler_cases) return makers;
    for (const std::function<DescribedCase()>& make : now.simpler_cases()) {
      makers.push_back([make, after = now.after, remark = now.remark] {
        DescribedCase simpler = make();
        simpler.after = after;
        simpler.remark = remark;
        return simpler;
      });
    }
    return makers;
  }

  struct Times {
    int made = 0;
    int failed = 0;  // in the same way

    std::string text() const { return fmt::format("{} of {} times", failed, made); }
  };

  // For a case that passed alone at first: runs it on restarted backends, alone and after its
  // preceding cases in turn, and counts the failures.
  void count_failures() {
    TrialBudget budget(check_.options, left_);
    DescribedCase alone = smallest_.described;
    alone.after = {};
    std::optional<FailingCase> failed_alone;
    Times times_alone;
    Times times_after;
    while (times_after.made < kTrialsOfChance && budget.has_more()) {
      const bool is_alone = times_alone.made == times_after.made;
      const DescribedCase& candidate = is_alone ? alone : smallest_.described;
      std::optional<FailingCase> failing = tried(candidate, budget);
      if (!failing && !is_alone && budget.is_out_of_time()) break;  // perhaps before the case ran
      Times& times = is_alone ? times_alone : times_after;
      ++times.made;
      if (!failing) continue;
      ++times.failed;
      if (failing->lost) {
        smallest_ = *std::move(failing);
        return;
      }
      if (is_alone && !failed_alone) failed_alone = std::move(failing);
    }
    if (failed_alone && times_alone.failed >= times_after.failed) {
      failed_alone->is_cut_short = smallest_.is_cut_short;
      smallest_ = *std::move(failed_alone);
    }
    std::string remark = chance_text(times_alone, times_after);
    if (times_after.made < kTrialsOfChance)
      remark += "; further trials were stopped " + budget.end_text();
    std::string& before = smallest_.described.remark;
    before = remark + (remark.empty() || before.empty() ? "" : "\n") + before;
  }

  std::string chance_text(const Times& alone, const Times& after) const {
    const Cases& cases = smallest_.described.after;
    if (cases.empty()) {
      return alone.failed == alone.made
                 ? ""
                 : "not each time: alone in a new process it failed " + alone.text();
    }
    const bool may_be_only = alone.failed == 0 && after.failed == after.made;
    if (may_be_only && (after.made == 0 || after.made == kTrialsOfChance)) {
      return fmt::format("{}only after other cases: {}, and fails there after\n{}",
                         after.made == 0 ? "perhaps " : "", alone_text(), cases_text(cases));
    }
    return fmt::format("{}: alone in a new process it failed {}, and\n{} after {}",
                       may_be_only ? "perhaps only after other cases" : "not each time",
                       alone.text(), after.text(), cases_text(cases));
  }

  std::string alone_text() const {
    if (alone_.skipped)
      return fmt::format("it is skipped alone in a new process ({})", *alone_.skipped);
    return alone_.failed() ? "it fails in another way alone in a new process"
                           : "it holds alone in a new process";
  }

  const Check& check_;
  const std::string kind_;
  FailingCase smallest_;
  LawVerdict alone_;
  TrialsLeft& left_;
  FailingCases& others_;
};

}  // namespace

FailingCase failing_case(const Check& check, DescribedCase described, LawVerdict verdict) {
  FailingCase failing{.described = std::move(described), .verdict = std::move(verdict)};
  if (check.options.why_lost) failing.lost = check.options.why_lost();
  return failing;
}

LawVerdict verdict_of_trial(const Check& check, const DescribedCase& described,
                            const TrialBudget* budget) {
  const auto& [law, backend, options] = check;
  if (backend.restart) backend.restart(CallsAre::kTrials);
  for (const auto& before : described.after) {
    LawVerdict verdict = verdict_of(law, backend, before->law_case, options.bound_kind);
    if (verdict.call_failure && verdict.kind() == kTimeOut)
      verdict.skipped = "a case before it did not return";
    else if (budget != nullptr && budget->is_out_of_time())
      verdict.skipped = "no time is left";
    else
      continue;
    return verdict;
  }
  return verdict_of(law, backend, described.law_case, options.bound_kind);
}

void PrecedingCases::add(std::shared_ptr<const DescribedCase> described) {
  numbers_ += numbers_in(*described);
  cases_.push_back(std::move(described));
  while (!cases_.empty() && (cases_.size() > kMost || numbers_ > kNumbersMax)) {
    numbers_ -= numbers_in(*cases_.front());
    cases_.erase(cases_.begin());
  }
}

FailingCase reduced(const Check& check, FailingCase failing, const PrecedingCases& preceding,
                    TrialsLeft& left, FailingCases& others) {
  return Reducer(check, std::move(failing), left, others).run(preceding);
}

}  // namespace recto::verify

#pragma once

// Reduces a failing check: finds out whether it fails again, alone or after the preceding cases, if
// its backend can restart, and looks for the simplest case that fails in the same way. A trial is
// one such run of the check.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "verify/law_runner.h"

namespace recto::verify {

// A law and the backend that it checks.
struct Check {
  const Law& law;
  const Backend& backend;
  const LawRunOptions& options;
};

struct FailingCase {
  DescribedCase described;
  LawVerdict verdict;
  std::optional<std::string> lost = {};  // why nothing can run any more after the failure
  bool is_cut_short = false;             // it did not fail again, or trials ended early
};

using FailingCases = std::map<std::string, FailingCase>;  // by kind

// Also asks the options whether anything can still run.
FailingCase failing_case(const Check& check, DescribedCase described, LawVerdict verdict);

// The last cases that a check ran on, oldest first: a failure may depend on them. A limit on their
// tensors' size bounds how many.
class PrecedingCases {
 public:
  static constexpr std::size_t kMost = 64;

  void add(std::shared_ptr<const DescribedCase> described);
  const std::vector<std::shared_ptr<const DescribedCase>>& all() const { return cases_; }

 private:
  std::vector<std::shared_ptr<const DescribedCase>> cases_;
  std::int64_t numbers_ = 0;  // elements in their tensors
};

// What is left for the trials of all failing cases.
struct TrialsLeft {
  std::int64_t work = 0;  // AttentionProblem::work()
  double seconds = 0;
};

// The budget of one failing case.
class TrialBudget {
 public:
  TrialBudget(const LawRunOptions& options, TrialsLeft& left)
      : options_(options),
        left_(left),
        work_(std::max(kLeastWork, left.work / 4)),
        seconds_(std::min(options.shrinking_seconds, left.seconds)),
        begin_(options.clock ? options.clock() : 0) {}
  ~TrialBudget() {
    if (options_.clock) left_.seconds = std::max(0.0, left_.seconds - seconds_passed());
  }
  TrialBudget(const TrialBudget&) = delete;
  TrialBudget& operator=(const TrialBudget&) = delete;

  // False if the budget is used up.
  bool has_more() const { return trials_ > 0 && work_ > 0 && !is_out_of_time(); }
  bool is_out_of_time() const { return options_.clock && seconds_passed() >= seconds_; }
  void take(const DescribedCase& described) {
    std::int64_t work = described.law_case.problem.work();
    for (const auto& before : described.after) work += before->law_case.problem.work();
    work_ -= work;
    left_.work -= work;
    --trials_;
  }
  // Which limit ended the trials, if has_more() is false.
  std::string end_text() const {
    if (is_out_of_time() && seconds_ < options_.shrinking_seconds) {
      return fmt::format("after {} s of all failing cases together",
                         options_.all_shrinking_seconds);
    }
    if (is_out_of_time()) return fmt::format("after {} s", options_.shrinking_seconds);
    if (work_ <= 0) return "at the work limit of its trials";
    return fmt::format("after {} trials", options_.shrinking_trials);
  }

 private:
  // The minimum for each failing case: enough for the trials of a small case.
  static constexpr std::int64_t kLeastWork = 50'000'000;

  double seconds_passed() const { return options_.clock() - begin_; }

  const LawRunOptions& options_;
  TrialsLeft& left_;
  std::int64_t trials_ = options_.shrinking_trials;
  std::int64_t work_;
  double seconds_;
  double begin_;
};

// The verdict on the case after the cases in `described.after`; skipped if one of those does not
// return, or if the budget runs out of time before the case. A backend that can restart does so
// first: a kernel library then runs in a new process. The others run on, and keep what earlier
// calls left behind, unless their checks are made in forks (own_process.h).
LawVerdict verdict_of_trial(const Check& check, const DescribedCase& described,
                            const TrialBudget* budget = nullptr);

// The failing case to show: the simplest one found that fails in the same way, with a remark if it
// does not fail each time and alone. Cases found meanwhile that fail in another way go to `others`,
// the first of each kind. Deducts its trials from `left`.
FailingCase reduced(const Check& check, FailingCase failing, const PrecedingCases& preceding,
                    TrialsLeft& left, FailingCases& others);

}  // namespace recto::verify

#pragma once

// The budget for trials of failing cases: number, work and, if there is a clock, seconds.

#include <algorithm>
#include <cstdint>
#include <string>

#include <fmt/format.h>

#include "verify/case_work.h"
#include "verify/law_runner.h"

namespace recto::verify {

// What is left for the trials of all failing cases.
struct TrialsLeft {
  std::int64_t work = 0;  // case_work.h
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
  bool has_more() const { return trials_ > 0 && work_ > 0 && !is_late(); }
  bool is_late() const { return options_.clock && seconds_passed() >= seconds_; }
  void take(const DescribedCase& described) {
    std::int64_t work = case_work(described.law_case.problem);
    for (const auto& before : described.after) work += case_work(before->law_case.problem);
    work_ -= work;
    left_.work -= work;
    --trials_;
  }
  // Which limit ended the trials, if has_more() is false.
  std::string end_text() const {
    if (is_late() && seconds_ < options_.shrinking_seconds) {
      return fmt::format("after {} s of all failing cases together",
                         options_.all_shrinking_seconds);
    }
    if (is_late()) return fmt::format("after {} s", options_.shrinking_seconds);
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

}  // namespace recto::verify

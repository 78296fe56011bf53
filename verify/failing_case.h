#pragma once

// What is made of a case that fails: whether it fails again in a restarted backend, alone or only
// after other checks, and the simplest case that fails in the same way.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "verify/law_runner.h"

namespace recto::verify {

// What the runner does with one law, one backend and one case.
struct Attempt {
  const Law& law;
  const Backend& backend;
  const DescribedCase& described;
  const LawRunOptions& options;
};

// A case, its verdict, and why nothing can run any more after it.
struct FailingCase {
  DescribedCase described;
  LawVerdict verdict;
  std::optional<std::string> lost = {};
  bool fails_again = true;    // in a restarted backend, after described.after
  bool held_alone = false;    // there, at first
  bool is_cut_short = false;  // trials ended before all were made
};

using FailingCases = std::map<std::string, FailingCase>;  // by kind

// Asks why nothing can run any more.
FailingCase failing_case(const Attempt& attempt, DescribedCase described, LawVerdict verdict);

// The checks made last, oldest first: as many as their tensors have room for.
class RecentChecks {
 public:
  void add(MadeCheck check);
  const std::deque<MadeCheck>& all() const { return checks_; }

 private:
  std::deque<MadeCheck> checks_;
  std::int64_t numbers_ = 0;  // in their tensors; a case counts for each of its checks
};

// What is left for the trials of all failing cases.
struct TrialsLeft {
  std::int64_t work = 0;
  double seconds = 0;
};

// What trials of one failing case may still cost.
class TrialBudget {
 public:
  TrialBudget(const LawRunOptions& options, const TrialsLeft& left);

  // False if nothing is left.
  bool has(std::int64_t trials) const { return trials > 0 && work_left_ > 0 && !is_late(); }
  void take(const DescribedCase& described);
  bool is_late() const { return clock_ && clock_() - begin_ >= seconds_; }
  // How trials were ended where has() is false: "after 60 s", of time, work or `trials`.
  std::string end_text(std::int64_t trials) const;
  // What is left of `left`.
  TrialsLeft left() const;

 private:
  const LawRunOptions& options_;
  TrialsLeft before_;
  std::int64_t work_;
  std::int64_t work_left_;
  std::function<double()> clock_;
  double begin_ = 0;
  double seconds_ = 0;
};

// The verdict on the case. Where a call was late and the machine may be to blame, it is put again,
// to a restarted backend after the recent checks, and that counts if these come back.
LawVerdict verdict_for_sure(const Attempt& attempt, const RecentChecks& recent);

// The verdict on the case in a restarted backend, after the checks that come before it; skipped if
// one of these does not come back, or if there is no time left for the next one. A backend that
// cannot be restarted is as it is.
LawVerdict verdict_again(const Attempt& attempt, const DescribedCase& described,
                         const TrialBudget* budget = nullptr);

// The case as it fails again: alone, or else after the fewest of the recent checks that were found,
// or after itself, so many times. If it fails in another way alone, that goes to `others`, as
// below.
FailingCase failing_again(const Attempt& attempt, FailingCase failing, const RecentChecks& recent,
                          TrialBudget& budget, FailingCases& others);

// The simplest case found that fails in the same way as `smallest`. Cases that fail in another way
// go to `others`, the first of each kind.
FailingCase shrunk(const Attempt& attempt, FailingCase smallest, TrialBudget& budget,
                   FailingCases& others);

}  // namespace recto::verify

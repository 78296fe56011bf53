#pragma once

// Where a law is broken by a case that is right itself: which of the runs that the law makes the
// oracle finds wrong, and what is wrong in it.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "verify/law.h"

namespace recto::verify {

// A law, and what it is put to. All must outlive it.
struct TriedLaw {
  const Law& law;
  const Backend& backend;
  const LawCase& law_case;
  BoundKind bound_kind;
};

// A run that is beyond the bounds of the oracle, or did not come back.
struct DepartedRun {
  std::int64_t attempt = 0;  // the law's call that it was, of all that it made
  std::int64_t run = 0;      // and of those that the backend supports
  CallOptions options;
  std::string differing;                 // from the case, in lines
  std::optional<Comparison> comparison;  // with the oracle; nothing if it did not come back
  LawCase law_case;                      // set beside the comparison: the run as a case
};

struct JudgedRuns {
  std::int64_t made = 0;
  std::int64_t judged = 0;
  double work_left = 0.0;  // case_work.h; negative: some runs are not judged for want of it
  std::optional<DepartedRun> first = {};
};

// What the oracle may do for all runs of a law: some ten seconds of it.
inline constexpr double kJudgedWorkMax = 2e9;

// verdict_of the law, each of whose runs is compared with the oracle on the run's own inputs. Not
// judged are runs in which what rows see is not finite.
LawVerdict judged_verdict(const TriedLaw& tried, JudgedRuns& runs,
                          double work_max = kJudgedWorkMax);

// Several lines, ending in a newline: which run departs, how it differs from the case, and what is
// wrong in it. For that the law is tried again, with other V in the place of this run; `begin`
// comes before each time, and makes the backend forget.
std::string explained_runs(const TriedLaw& tried, const JudgedRuns& runs,
                           const std::function<void()>& begin);

}  // namespace recto::verify

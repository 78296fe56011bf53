#pragma once

// For a law that fails on a case that is itself right: finds which of the law's runs departs from
// the oracle, and explains that run.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "verify/law.h"

namespace recto::verify {

// A law, and the backend and case that it checks. All must outlive it.
struct TriedLaw {
  const Law& law;
  const Backend& backend;
  const LawCase& law_case;
  BoundKind bound_kind;
};

// A run that exceeds the oracle's bounds, or did not return.
struct DepartedRun {
  std::int64_t attempt = 0;  // index of the call among all that the law made
  std::int64_t run = 0;      // index among the calls that the backend supports
  CallOptions options;
  std::string differing;                 // how its inputs differ from the case's, in lines
  std::optional<Comparison> comparison;  // with the oracle; nothing if the call did not return
  LawCase law_case;                      // set with the comparison: the run as a case
};

struct JudgedRuns {
  std::int64_t made = 0;
  std::int64_t judged = 0;
  double work_left = 0.0;  // AttentionProblem::work; if negative, some runs were not judged
  std::optional<DepartedRun> first = {};
};

// The oracle's work for all runs of a law: about ten seconds.
inline constexpr double kJudgedWorkMax = 2e9;

// A line, indented by two spaces, for each size or option in which a run's inputs differ from the
// case's.
std::string differing_text(const PagedAttentionInputs& inputs, const PagedAttentionInputs& of_case);

// The problem that a run's inputs pose, in the same layout and block size. The positions of blocks,
// and gaps with their contents, are those of `placement`. Inputs exist only during the call.
LawCase case_of(const PagedAttentionInputs& inputs, Placement placement);

// verdict_of the law, with each of its runs compared with the oracle on the run's own inputs. Runs
// in which a row sees a non-finite input are not judged.
LawVerdict judged_verdict(const TriedLaw& tried, JudgedRuns& runs,
                          double work_max = kJudgedWorkMax);

// Several lines, ending in a newline: which run departs, how it differs from the case, and what is
// wrong in it. Repeats the law with other V in this run; calls `begin` before each repetition,
// which makes the backend forget earlier calls.
std::string explained_runs(const TriedLaw& tried, const JudgedRuns& runs,
                           const std::function<void()>& begin);

}  // namespace recto::verify

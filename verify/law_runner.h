#pragma once

// Runs laws on backends over cases. Counts what held and what failed, with replay commands, and
// what did not apply, with reasons. A failing case is reduced (reducer.h) before it is printed.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "verify/law.h"

namespace recto::verify {

struct CaseSpec;  // verify/cases/case_spec.h

struct DescribedCase {
  LawCase law_case;
  std::string description;  // shape and options, for people; several lines
  std::string replay;       // the command that runs this case again
  // Simpler cases, most aggressive first, each created on demand; empty if none are known.
  std::function<std::vector<std::function<DescribedCase()>>()> simpler_cases = {};
  std::shared_ptr<const CaseSpec> spec = {};  // the generators' spec; null if it was not generated
  // For a failing case: the cases to run before it on the restarted backend, in this order, without
  // which it passes; and, in lines, how often it fails if not each time.
  std::vector<std::shared_ptr<const DescribedCase>> after = {};
  std::string remark = {};
};

// The next case, or nothing after the last.
using CaseSource = std::function<std::optional<DescribedCase>()>;

// Failures of one kind (LawVerdict::kind).
struct FailureCount {
  std::int64_t cases = 0;            // drawn cases
  std::int64_t shown = 0;            // printed in LawReport::failures
  std::int64_t met_shrinking = 0;    // of `shown`, found while shrinking a failure of another kind
  std::int64_t shrunk_to_shown = 0;  // not shown, because they shrink to a case that is shown
  // Specs of shown cases that need no cases before them, where known.
  std::vector<std::shared_ptr<const CaseSpec>> shown_specs = {};
};

// The outcome of one law on one backend.
struct LawCount {
  std::string law = {};
  std::string backend = {};
  std::int64_t held = 0;
  std::int64_t failed = 0;
  std::map<std::string, FailureCount> failures = {};  // by kind
  std::map<std::string, std::int64_t> skipped = {};   // reason -> cases
  std::map<std::string, std::int64_t> skipped_parts =
      {};                     // part and reason -> cases tried otherwise
  double worst_ratio = 0.0;   // of error to bound
  std::int64_t elements = 0;  // compared, over all tried cases
  std::int64_t by_bits = 0;   // elements compared bit for bit

  std::int64_t ran() const { return held + failed; }
  // "bits" if all elements must match bit for bit, "bound", or "both" if some have a bound.
  const char* held_to() const;
};

struct LawRunOptions {
  BoundKind bound_kind = BoundKind::kWorstCase;
  std::int64_t failures_kept = 3;       // texts kept per law, backend and kind of failure
  std::int64_t shrinking_trials = 400;  // at most, per failing case
  // Work (AttentionProblem::work) of these trials over all failing cases. Each case gets a quarter
  // of what is left, and at least what small cases need.
  std::int64_t shrinking_work = 4'000'000'000;
  // Returns seconds; limits the trials of each failing case, and of all of them together, to the
  // times below. Without a clock, time is not limited.
  std::function<double()> clock = {};
  double shrinking_seconds = 60;
  double all_shrinking_seconds = 120;
  // Begins to reduce a failure of a law at a small case on which its backend failed another law, if
  // it fails this one in the same way. For slow backends: one fault breaks most laws.
  bool begins_at_shown_cases = false;
  // Saves a shrunk failing case and returns its replay command. If empty, the replay stays.
  std::function<std::string(const Law&, const Backend&, const DescribedCase&, const LawVerdict&)>
      keep = {};
  // Whether a case is meant for this law and backend: if not, it is neither run nor counted. If
  // empty, every case is.
  std::function<bool(const Law&, const Backend&)> is_meant_for = {};
  std::function<void(const Law&, const Backend&)> before_each = {};  // per case, for progress
  // Why a case is skipped for this law and backend; counted as such. If empty, none is skipped.
  std::function<std::optional<std::string>(const Law&, const Backend&, const DescribedCase&)>
      why_left_out = {};
  // Called after each failure, also while shrinking: why nothing can run any more, for example
  // after a sticky device error. The run then ends. If empty, running is always possible.
  std::function<std::optional<std::string>()> why_lost = {};
  // Called for cases that were compared or failed, not for skipped ones.
  std::function<void(const Law&, const Backend&, const DescribedCase&, const LawVerdict&)>
      after_each = {};
};

struct LawReport {
  std::vector<LawCount> counts;       // [laws, backends]
  std::vector<std::string> failures;  // readable blocks
  // The law, the backend and the reason, if LawRunOptions::why_lost ended the run early. Laws that
  // had not yet run on this case count as skipped, and no other case was drawn.
  std::optional<std::string> lost = {};
  // Failures whose cases may not be minimal: they did not fail again, or trials ended for lack of
  // time or work.
  std::int64_t cut_short = 0;
  // Checks in which a call exceeded its time limit, and did not when it was made again.
  std::int64_t timed_out_once = 0;

  std::int64_t failed() const;  // cases, over all laws and backends
  // Backends to which no law applied: every case was skipped.
  std::vector<std::string> untried_backends() const;
  // Whether nothing failed and, on each backend, at least one law held; false for an empty report.
  bool passed() const;

  // A line per law and backend, then the reasons for skips, then the untried backends.
  std::string table() const;
  // Prints the table and the failures verbatim: a test framework would wrap replay commands at 80
  // columns.
  void print(std::ostream& out) const;
};

LawReport run_laws(const std::vector<Law>& laws, const std::vector<Backend>& backends,
                   const CaseSource& next_case, const LawRunOptions& options);

// Human-readable failing case: law, case, which element, seen, expected, bound, ratio, replay.
std::string failure_text(const Law& law, const Backend& backend, const DescribedCase& described,
                         const LawVerdict& verdict);

}  // namespace recto::verify

#pragma once

// Runs laws on backends over cases and counts: what held, what failed and how it is replayed, what
// said nothing and why. A failing case is made as small as it can be before it is printed. What a
// law or a backend throws is such a failure too: in tests, a broken contract is.

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

struct CaseSpec;  // verify/generators/case_spec.h

struct DescribedCase {
  LawCase law_case;
  std::string description;  // shape and options, for people; several lines
  std::string replay;       // the command that tries this case again
  // Simpler cases, boldest first, each made when it is wanted; empty if nobody knows any.
  std::function<std::vector<std::function<DescribedCase()>>()> simpler_cases = {};
  std::shared_ptr<const CaseSpec> spec =
      {};  // what the generators made it of; null if they did not
};

// The next case, or nothing after the last.
using CaseSource = std::function<std::optional<DescribedCase>()>;

// Failures of one kind (LawVerdict::kind).
struct FailureCount {
  std::int64_t cases = 0;          // of those that were drawn
  std::int64_t shown = 0;          // with a text in LawReport::failures
  std::int64_t met_shrinking = 0;  // of these, as a case that failed in another way was made small
};

// What came of one law on one backend.
struct LawCount {
  std::string law;
  std::string backend;
  std::int64_t held = 0;
  std::int64_t failed = 0;
  std::map<std::string, FailureCount> failures;       // by kind
  std::map<std::string, std::int64_t> skipped;        // reason -> cases
  std::map<std::string, std::int64_t> skipped_parts;  // part and reason -> cases otherwise tried
  double worst_ratio = 0.0;                           // of error to bound
  std::int64_t elements = 0;                          // compared, of all cases that were tried
  std::int64_t by_bits = 0;                           // of these, bit for bit

  std::int64_t ran() const { return held + failed; }
  // "bits" where no bit may differ, "bound", or "both" where some elements have a bound.
  const char* held_to() const;
};

struct LawRunOptions {
  BoundKind bound_kind = BoundKind::kHard;
  std::int64_t failures_kept = 3;       // texts, per law, backend and kind of failure
  std::int64_t shrinking_trials = 400;  // of one failing case, at most
  // Work (case_work.h) of these trials, in all failing cases. Each gets a quarter of what is left,
  // and what small cases need in any case.
  std::int64_t shrinking_work = 4'000'000'000;
  // Keeps a failing case, once it is small, and says how it is replayed. If empty: as it is.
  std::function<std::string(const Law&, const Backend&, const DescribedCase&, const LawVerdict&)>
      keep = {};
  std::function<void(const Law&, const Backend&)> before_each = {};  // case, of progress
  // Why a case is not for this law and backend: counted as skipped. If empty: all are for all.
  std::function<std::optional<std::string>(const Law&, const Backend&, const DescribedCase&)>
      why_left_out = {};
  // Asked after each failure, also of cases that it shrinks to: why nothing can run any more, as
  // after an error that a device keeps. The run ends there. If empty: everything always can.
  std::function<std::optional<std::string>()> why_lost = {};
  // What was compared, or failed: not what was skipped.
  std::function<void(const Law&, const Backend&, const DescribedCase&)> after_each = {};
};

struct LawReport {
  std::vector<LawCount> counts;       // [laws, backends]
  std::vector<std::string> failures;  // readable blocks
  // The law, the backend and why, if the run ended early by LawRunOptions::why_lost: laws that had
  // not come to their turn with this case count as skipped, and no other case was drawn.
  std::optional<std::string> lost = {};

  std::int64_t failed() const;  // cases, over all laws and backends
  // Those of which no law said anything: each case was skipped.
  std::vector<std::string> untried_backends() const;
  // Nothing failed, and of each backend some law held: false of a report of nothing.
  bool passed() const;

  // A line per law and backend, then the reasons of what was skipped, and who went untried.
  std::string table() const;
  // The table and the failures, as they are: a test's framework would wrap replays at 80 columns.
  void print(std::ostream& out) const;
};

LawReport run_laws(const std::vector<Law>& laws, const std::vector<Backend>& backends,
                   const CaseSource& next_case, const LawRunOptions& options);

// The law put to the backend: skipped where it says nothing of the case or compares nothing.
LawVerdict verdict_of(const Law& law, const Backend& backend, const LawCase& law_case,
                      BoundKind bound_kind);

// The simplest case found that breaks the law on the backend in the way that `failing` does.
DescribedCase shrink_failure(const Law& law, const Backend& backend, const DescribedCase& failing,
                             const LawRunOptions& options);

// A failing case as people read it: law, case, which element, seen, expected, bound, ratio, replay.
std::string failure_text(const Law& law, const Backend& backend, const DescribedCase& described,
                         const LawVerdict& verdict);

}  // namespace recto::verify

#pragma once

// A law: a property that every correct implementation must have, stated without knowing the correct
// answer. One file per law in verify/laws/, written once and run on each backend. The comparison
// with the oracle has the same form, so that one runner tries, counts, shrinks and prints both.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "verify/backend.h"
#include "verify/cases/attention_problem.h"
#include "verify/cases/placed_problem.h"
#include "verify/comparison.h"

namespace recto::reference {
struct BoundedResult;  // reference/error_bound.h
}

namespace recto::verify {

// The input of a law.
struct LawCase {
  AttentionProblem problem;
  Placement placement;
};

// Which bound of reference/error_bound.h a law compares with. Bit-for-bit laws use neither.
enum class BoundKind { kWorstCase, kProbabilistic };

// The bounds of this kind, of results with a member for each.
template <typename Results>
const auto& bound_of(const Results& results, BoundKind kind) {
  return kind == BoundKind::kWorstCase ? results.worst_case : results.probabilistic;
}

struct LawVerdict {
  Comparison comparison = {};  // over all comparisons of the law
  std::string what = {};       // which comparison failed first; empty if none did
  // Why the law could not be applied to this backend; then nothing was compared.
  std::optional<std::string> skipped = {};
  // Parts of the law that could not be applied, and why; the other parts were.
  std::vector<std::string> skipped_parts = {};
  std::optional<std::string> found = {};    // the defect, for a law that compares no numbers
  std::optional<Failed> call_failure = {};  // the call that failed; the law makes no call after it
  std::string printed = {};                 // by the calls of a failed law if all returned; raw

  bool failed() const { return call_failure || found || !comparison.passed(); }
  // How a failed law failed. Failures of two kinds have two causes, or show different aspects of
  // one cause.
  std::string kind() const {
    if (call_failure) return call_failure->kind;
    return found ? "wrong contents" : kWrongNumbers;
  }
  // For a failed law: what was checked, or that a call failed; details() says what is wrong, in
  // several lines.
  std::string heading() const;
  std::string details() const;
};

// The call's result; or nothing, and then `verdict` says why (skipped, or the failure).
const Done* done_or_verdict(const CallOutcome& outcome, LawVerdict& verdict);

// The verdict of a law that checked `what` and found these lines; unchanged if there are none.
LawVerdict with_findings(LawVerdict verdict, const std::string& what, std::string found);

struct Law {
  std::string name;
  std::string statement;
  // Why the law does not apply to this case (an unmet precondition), or nothing.
  std::function<std::optional<std::string>(const LawCase&)> why_not_applicable;
  std::function<LawVerdict(const Backend&, const LawCase&, BoundKind)> check;
  // Why the law does not apply to this backend, whatever the case. Empty: the law is about
  // attention, and does not apply to backends that compute none.
  std::function<std::optional<std::string>(const Backend&)> why_never = {};
};

// Why the law cannot be applied to the backend, whatever the case, or nothing.
std::optional<std::string> why_never(const Law& law, const Backend& backend);

// The verdict of law.check; an exception is a failed call, as in guarded().
LawVerdict guarded_check(const Law& law, const Backend& backend, const LawCase& law_case,
                         BoundKind bound_kind);

// Applies the law to the backend: skipped if it does not apply to the case or compares nothing.
LawVerdict verdict_of(const Law& law, const Backend& backend, const LawCase& law_case,
                      BoundKind bound_kind);

// Called with results that lie within the bound, and with the oracle's results.
using OracleObserver =
    std::function<void(const Backend&, const PagedAttentionInputs&,
                       const reference::AttentionResult& seen, const reference::BoundedResult&)>;

// The verdict of a law that compares a backend's results for `inputs` with the fp64 result.
// `inputs` must pass the gate.
LawVerdict compare_with_oracle(const Backend& backend, const PagedAttentionInputs& inputs,
                               BoundKind bound_kind, const CallOptions& options = {},
                               const OracleObserver& observer = {});

// "oracle": out and lse lie within the bound around the fp64 result.
Law oracle_comparison(const OracleObserver& observer = {});

}  // namespace recto::verify

#pragma once

// A law: a property that every correct implementation must have, stated without knowing the correct
// answer. One file per law in verify/laws/, written once and run on each backend.

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

namespace recto::verify {

// The input of a law.
struct LawCase {
  AttentionProblem problem;
  Placement placement;
};

// Which bound of reference/error_bound.h a law compares with. Bit-for-bit laws use neither.
enum class BoundKind { kWorstCase, kProbabilistic };

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
  std::string heading() const { return call_failure ? "thrown" : what; }
  std::string details() const {
    if (call_failure) return call_failure->message;
    const std::string text = printed_text(printed);
    return (found ? *found : comparison.text()) + (text.empty() ? "" : "\n" + text);
  }
};

// The call's result; or nothing, and then `verdict` says why (skipped, or the failure).
inline const Done* done_or_verdict(const CallOutcome& outcome, LawVerdict& verdict) {
  if (const auto* refused = std::get_if<Unsupported>(&outcome)) verdict.skipped = refused->reason;
  if (const auto* failed = std::get_if<Failed>(&outcome)) verdict.call_failure = *failed;
  return std::get_if<Done>(&outcome);
}

// The verdict of a law that checked `what` and found these lines; unchanged if there are none.
inline LawVerdict with_findings(LawVerdict verdict, const std::string& what, std::string found) {
  if (found.empty()) return verdict;
  if (found.ends_with('\n')) found.pop_back();
  verdict.what = what;
  verdict.found = std::move(found);
  return verdict;
}

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
inline std::optional<std::string> why_never(const Law& law, const Backend& backend) {
  if (law.why_never) return law.why_never(backend);
  if (!backend.computes_attention()) return "it computes no attention";
  return std::nullopt;
}

}  // namespace recto::verify

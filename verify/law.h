#pragma once

// A law: a property that every correct implementation must have, stated without knowing the correct
// answer. One file per law in verify/laws/, written once and run on each backend.

#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "verify/backend.h"
#include "verify/comparison.h"
#include "verify/problems/attention_problem.h"
#include "verify/problems/placed_problem.h"

namespace recto::verify {

// The input of a law.
struct LawCase {
  AttentionProblem problem;
  Placement placement;
};

// Which bound of reference/error_bound.h a law compares within. Bit-for-bit laws use neither.
enum class BoundKind { kHard, kSharp };

// kPerhapsMachine: it was late, as a right one may be where the machine has much else to do; it
// fails if it is late again, restarted and after the same calls.
enum class FailureCause : std::uint8_t { kBackend, kPerhapsMachine };

// Thrown by a backend that knows how a call failed, such as "SIGSEGV" or kTimeOut.
struct FailureOfKind : std::runtime_error {
  FailureOfKind(std::string failure_kind, const std::string& text,
                FailureCause its_cause = FailureCause::kBackend)
      : std::runtime_error(text), kind(std::move(failure_kind)), cause(its_cause) {}

  std::string kind;
  FailureCause cause;
};

// Kinds of failure.
inline constexpr const char* kWrongNumbers = "wrong numbers";
inline constexpr const char* kTimeOut = "time-out";

struct LawVerdict {
  Comparison comparison;  // over all comparisons of the law
  std::string what;       // which comparison failed first; empty if none did
  // Why the law could not be applied to this backend; then nothing was compared.
  std::optional<std::string> skipped;
  // Parts of the law that could not be applied, beside those that were: which, and why.
  std::vector<std::string> skipped_parts;
  std::optional<std::string> found;   // what is wrong, by a law that compares no numbers
  std::optional<std::string> thrown;  // message of what ended the law; the runner catches it
  std::string thrown_kind = "thrown";
  FailureCause thrown_cause = FailureCause::kBackend;
  std::string printed = {};  // Backend::take_printed, of a failed law that was not ended

  bool failed() const { return thrown || found || !comparison.passed(); }
  // How a failed law failed. Failures of two kinds have two causes, or show different aspects of
  // one cause.
  std::string kind() const {
    if (thrown) return thrown_kind;
    return found ? "wrong contents" : kWrongNumbers;
  }
  // For a failed law: what was checked, or that it threw; details() says what is wrong, in several
  // lines.
  std::string heading() const { return thrown ? "thrown" : what; }
  std::string details() const {
    if (thrown) return *thrown;
    return (found ? *found : comparison.text()) + (printed.empty() ? "" : "\n" + printed);
  }
};

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
  // Why it does not apply to this case (an unmet precondition), or nothing.
  std::function<std::optional<std::string>(const LawCase&)> why_not_applicable;
  std::function<LawVerdict(const Backend&, const LawCase&, BoundKind)> check;
  // Why it does not apply to this backend, whatever the case. Empty: the law is about attention,
  // and does not apply to backends that compute none.
  std::function<std::optional<std::string>(const Backend&)> why_never = {};
};

// Why the law cannot be applied to the backend, whatever the case, or nothing.
inline std::optional<std::string> why_never(const Law& law, const Backend& backend) {
  if (law.why_never) return law.why_never(backend);
  if (!backend.run) return "it computes no attention";
  return std::nullopt;
}

}  // namespace recto::verify

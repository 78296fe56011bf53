#pragma once

// A law: what must hold of every right implementation, without knowing the right answer. One file
// per law in verify/laws/, written once and run on each backend.

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

// What a law is tried on.
struct LawCase {
  AttentionProblem problem;
  Placement placement;
};

// Which bound of reference/error_bound.h a law compares within. Bit-for-bit laws look at neither.
enum class BoundKind { kHard, kSharp };

// What a backend throws that knows in what way a call failed, such as "SIGSEGV" or "time-out".
struct FailureOfKind : std::runtime_error {
  FailureOfKind(std::string failure_kind, const std::string& text)
      : std::runtime_error(text), kind(std::move(failure_kind)) {}

  std::string kind;
};

inline constexpr const char* kWrongNumbers = "wrong numbers";

struct LawVerdict {
  Comparison comparison;  // all of the law's, together
  std::string what;       // which of them failed first; empty if none did
  // Why the law could not be put to this backend; nothing was compared then.
  std::optional<std::string> skipped;
  // Parts of the law that could not, beside others that were compared: which, and why.
  std::vector<std::string> skipped_parts;
  std::optional<std::string> found;   // what is wrong, by a law that compares no numbers
  std::optional<std::string> thrown;  // message of what ended the law; the runner catches it
  std::string thrown_kind = "thrown";

  bool failed() const { return thrown || found || !comparison.passed(); }
  // Of one that failed: in what way. Failures of two kinds have two causes, or tell of one cause
  // what the other does not.
  std::string kind() const {
    if (thrown) return thrown_kind;
    return found ? "wrong contents" : kWrongNumbers;
  }
  // Of one that failed: what was looked at, or that it threw; and what is wrong, in several lines.
  std::string heading() const { return thrown ? "thrown" : what; }
  std::string details() const {
    if (thrown) return *thrown;
    return found ? *found : comparison.text();
  }
};

// The verdict of a law that looked at `what` and found these lines; as it is if there are none.
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
  // Why it says nothing of this case (a precondition that does not hold), or nothing.
  std::function<std::optional<std::string>(const LawCase&)> why_not_applicable;
  std::function<LawVerdict(const Backend&, const LawCase&, BoundKind)> check;
  // Why it says nothing of this backend, whatever the case. Empty: it is about attention, and says
  // nothing of those that compute none.
  std::function<std::optional<std::string>(const Backend&)> why_never = {};
};

// Why the law cannot be put to the backend, whatever the case, or nothing.
inline std::optional<std::string> why_never(const Law& law, const Backend& backend) {
  if (law.why_never) return law.why_never(backend);
  if (!backend.run) return "it computes no attention";
  return std::nullopt;
}

}  // namespace recto::verify

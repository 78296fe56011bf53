#pragma once

// A law: what must hold of every right implementation, without knowing the right answer. One file
// per law in verify/laws/, written once and run on each backend.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "verify/attention_problem.h"
#include "verify/backend.h"
#include "verify/comparison.h"
#include "verify/placed_problem.h"

namespace recto::verify {

// What a law is tried on.
struct LawCase {
  AttentionProblem problem;
  Placement placement;
};

struct LawVerdict {
  Comparison comparison;
  std::string what;  // which of the law's comparisons failed; empty if none did
};

struct Law {
  std::string name;
  std::string statement;
  // Why it says nothing of this case (a precondition that does not hold), or nothing.
  std::function<std::optional<std::string>(const LawCase&)> why_not_applicable;
  std::function<LawVerdict(const Backend&, const LawCase&)> check;
};

// Every law, in the order of verify/laws/README.md.
const std::vector<Law>& all_laws();

}  // namespace recto::verify

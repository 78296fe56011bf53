#pragma once

// What is wrong in a case that a backend fails, from its outputs alone: where, at which step of the
// computation, and which known fault would give just that.

#include <optional>
#include <string>

#include "verify/comparison.h"
#include "verify/explanation/diagnosis.h"
#include "verify/explanation/hypotheses.h"
#include "verify/law.h"

namespace recto::verify {

struct Explanation {
  std::optional<std::string> not_run;  // why the backend gave nothing to look at
  Comparison comparison;               // with the oracle
  // Of a case that the oracle finds wrong:
  RowPlace place;  // of the worst element
  std::optional<RowProbe> probe;
  std::optional<std::string> why_no_probe;
  Diagnosis diagnosis;
  HypothesisReport hypotheses;

  bool is_wrong() const { return !not_run && !comparison.passed(); }
};

Explanation explain(const Backend& backend, const LawCase& law_case, BoundKind bound_kind);

// Of results that nobody can be asked for again, such as those in a file: `comparison` is theirs
// with the oracle, by third_party_numerics. `seen.lse_ln` may be empty.
Explanation explain_results(const reference::AttentionResult& seen, const Comparison& comparison,
                            const LawCase& law_case, BoundKind bound_kind);

// Several lines, ending in a newline.
std::string explanation_text(const Explanation& explanation, const LawCase& law_case);

}  // namespace recto::verify

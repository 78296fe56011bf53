#pragma once

// Explains a case that a backend fails, from its outputs alone: which element, at which step of the
// computation, and which known fault would give exactly these outputs.

#include <optional>
#include <string>

#include "verify/comparison.h"
#include "verify/explain/diagnosis.h"
#include "verify/explain/fault_report.h"
#include "verify/explain/weight_probe.h"
#include "verify/law.h"

namespace recto::verify {

struct Explanation {
  std::optional<std::string> not_run = {};  // why the backend gave no result
  Comparison comparison = {};               // with the oracle
  // Set only if the comparison failed:
  HeadRow place = {};         // of the worst element
  bool is_empty_row = false;  // it has no key to attend to
  std::optional<WeightProbe> probe = {};
  std::string why_no_probe = {};  // empty if there is one, or no weights exist
  Diagnosis diagnosis = {};
  FaultReport faults = {};

  bool is_wrong() const { return !not_run && !comparison.passed(); }
};

Explanation explain(const Backend& backend, const LawCase& law_case, BoundKind bound_kind);

// Explains results that cannot be computed again, such as those in a file. `comparison` compares
// them with the oracle, by third_party_numerics with the declared ones. `seen.lse_ln` may be empty.
Explanation explain_results(const reference::AttentionResult& seen, const Comparison& comparison,
                            const LawCase& law_case, BoundKind bound_kind,
                            const reference::DeclaredNumerics& declared = {});

// Several lines, ending in a newline.
std::string explanation_text(const Explanation& explanation, const LawCase& law_case);

}  // namespace recto::verify

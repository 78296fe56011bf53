#pragma once

// Faults that have been made before, each as what the oracle would give if it had it: those under
// which everything that was seen is right explain a failure.

#include <cstdint>
#include <string>
#include <vector>

#include "reference/paged_attention.h"
#include "verify/law.h"

namespace recto::verify {

struct HypothesisReport {
  std::int64_t tried = 0;
  std::vector<std::string> fitting;   // every element within its bounds
  std::vector<std::string> left_out;  // not tried, and why
};

// `seen` is what the backend made of the case. A hypothesis that changes nothing in this case is
// not counted.
HypothesisReport try_hypotheses(const Backend& backend, const LawCase& law_case,
                                const reference::AttentionResult& seen, BoundKind bound_kind);

}  // namespace recto::verify

#pragma once

// Faults that have been made before, each as the result that the oracle would give if it had the
// fault. A fault explains a failure if everything that was seen is right under it.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "reference/paged_attention.h"
#include "verify/law.h"

namespace recto::verify {

struct HypothesisReport {
  std::int64_t tried = 0;
  std::vector<std::string> fitting;   // faults under which every element is within its bounds
  std::vector<std::string> left_out;  // not tried, and why
  // Why the case shows too little for faults that fit to be believed: many others would fit, also
  // ones that nobody has thought of. Of those that fit, so nothing where none does.
  std::optional<std::string> weak = {};
};

// `seen` is the backend's result for the case. A hypothesis that changes nothing in this case is
// not counted.
HypothesisReport try_hypotheses(const Backend& backend, const LawCase& law_case,
                                const reference::AttentionResult& seen, BoundKind bound_kind);

}  // namespace recto::verify

#pragma once

// Faults that have been made before, each as the result that the oracle would give if it had the
// fault. A fault explains a failure if everything that was seen is right under it.

#include "reference/paged_attention.h"
#include "verify/explanation/hypothesis_report.h"
#include "verify/explanation/stale_results.h"
#include "verify/law.h"

namespace recto::verify {

// `seen` is the backend's result for the case; `stale`, which may be null, what of it follows
// memory from before. A hypothesis that changes nothing in this case is not counted.
HypothesisReport try_hypotheses(const Backend& backend, const LawCase& law_case,
                                const reference::AttentionResult& seen, BoundKind bound_kind,
                                const StaleResults* stale);

}  // namespace recto::verify

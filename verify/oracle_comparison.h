#pragma once

// The comparison with the oracle, in the shape of a law, so that one runner tries, counts, shrinks
// and prints both.

#include "verify/law.h"

namespace recto::verify {

// What a law says that holds a backend's results for `inputs` against the fp64 result. `inputs`
// pass the gate.
LawVerdict compare_with_oracle(const Backend& backend, const PagedAttentionInputs& inputs,
                               BoundKind bound_kind);

// "oracle": out and lse lie within the bound around the fp64 result.
Law oracle_comparison();

}  // namespace recto::verify

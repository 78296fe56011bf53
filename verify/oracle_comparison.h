#pragma once

// The comparison with the oracle, in the form of a law, so that one runner tries, counts, shrinks
// and prints both.

#include <functional>

#include "reference/error_bound.h"
#include "verify/law.h"

namespace recto::verify {

// Called with results that lie within the bound, and with the oracle's results.
using OracleWatch =
    std::function<void(const Backend&, const PagedAttentionInputs&,
                       const reference::AttentionResult& seen, const reference::BoundedResult&)>;

// The verdict of a law that compares a backend's results for `inputs` with the fp64 result.
// `inputs` must pass the gate.
LawVerdict compare_with_oracle(const Backend& backend, const PagedAttentionInputs& inputs,
                               BoundKind bound_kind, const CallOptions& options = {},
                               const OracleWatch& watch = {});

// "oracle": out and lse lie within the bound around the fp64 result.
Law oracle_comparison(const OracleWatch& watch = {});

}  // namespace recto::verify

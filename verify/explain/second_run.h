#pragma once

// Runs a case again on the backend under test: everything that is asked of it beyond its first
// result.

#include <optional>

#include "core/status.h"
#include "verify/explain/failed_case.h"

namespace recto::verify {

// The backend's result; failed, with the reason, if it does not support the call or gives none.
Result<reference::AttentionResult> try_run(const Backend& backend,
                                           const PagedAttentionInputs& inputs,
                                           const CallOptions& options);

// By two runs, on memory that holds other numbers each time. Nothing if the backend cannot be
// handed such memory, or does not run.
std::optional<StaleRows> find_stale_rows(const Backend& backend, const PagedAttentionInputs& inputs,
                                         CallOptions options);

}  // namespace recto::verify

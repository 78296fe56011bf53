#pragma once

// Runs a case again on the backend under test, for everything beyond its first result.

#include <optional>

#include "core/status.h"
#include "verify/explain/failed_case.h"

namespace recto::verify {

// The backend's result. Failed, with the reason, if it refuses the call or gives no result.
Result<reference::AttentionResult> try_run(const Backend& backend,
                                           const PagedAttentionInputs& inputs,
                                           const CallOptions& options);

// Makes two runs on memory with different contents. Nothing if the backend does not accept initial
// contents, or does not run.
std::optional<StaleRows> find_stale_rows(const Backend& backend, const PagedAttentionInputs& inputs,
                                         CallOptions options);

}  // namespace recto::verify

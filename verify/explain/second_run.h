#pragma once

// Runs a case again on the backend under test: everything that is asked of it beyond its first
// result.

#include <cstdint>
#include <optional>
#include <vector>

#include "core/status.h"
#include "verify/backend.h"

namespace recto::verify {

// The backend's result; failed, with the reason, if it does not support the call or gives none.
Result<reference::AttentionResult> try_run(const Backend& backend,
                                           const PagedAttentionInputs& inputs,
                                           const CallOptions& options);

// What of a row of one head follows what memory held before the call: nothing is written there, or
// something is added to it.
struct StaleRow {
  std::vector<std::int64_t> dims = {};  // of out
  bool has_lse_ln = false;
  // It is what memory held, unchanged. If not, it is made of that.
  bool is_unwritten = true;

  bool is_stale() const { return has_lse_ln || !dims.empty(); }
};

// Two runs, on memory that holds other numbers each time.
class StaleResults {
 public:
  // Nothing if the backend cannot be handed such memory, or does not run.
  static std::optional<StaleResults> find(const Backend& backend,
                                          const PagedAttentionInputs& inputs, CallOptions options);

  StaleRow at(std::int64_t row, std::int64_t head) const;  // row of the batch

 private:
  struct Run {
    reference::AttentionResult result;
    double out_before = 0.0;  // what out held
    double lse_ln_before = 0.0;
  };
  Run runs_[2];
};

}  // namespace recto::verify

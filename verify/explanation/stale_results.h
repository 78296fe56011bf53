#pragma once

// Finds results that follow what memory held before the call: nothing is written there, or
// something is added to it.

#include <cstdint>
#include <optional>
#include <vector>

#include "verify/backend.h"

namespace recto::verify {

class StaleResults {
 public:
  // Runs the call twice, on memory that holds other numbers each time. Nothing if the backend
  // cannot be handed such memory, or does not run.
  static std::optional<StaleResults> find(const Backend& backend,
                                          const PagedAttentionInputs& inputs);

  bool has_out(std::int64_t row, std::int64_t head) const;
  bool has_lse_ln(std::int64_t row, std::int64_t head) const;

 private:
  StaleResults(reference::AttentionResult first, reference::AttentionResult second);

  reference::AttentionResult first_;
  reference::AttentionResult second_;
};

}  // namespace recto::verify

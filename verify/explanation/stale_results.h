#pragma once

// Finds results that follow what memory held before the call: nothing is written there, or
// something is added to it.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "verify/backend.h"

namespace recto::verify {

// What is stale of a row of one head.
struct StaleRow {
  std::vector<std::int64_t> dims = {};  // of out
  bool has_lse_ln = false;
  // It is what memory held, unchanged. If not, it is made of that.
  bool is_unwritten = true;

  bool is_stale() const { return has_lse_ln || !dims.empty(); }
};

class StaleResults {
 public:
  // Runs the call twice, on memory that holds other numbers each time. Nothing if the backend
  // cannot be handed such memory, or does not run.
  static std::optional<StaleResults> find(const Backend& backend,
                                          const PagedAttentionInputs& inputs);

  StaleRow at(std::int64_t row, std::int64_t head) const;

 private:
  struct Run {
    reference::AttentionResult result;
    double out_before = 0.0;  // what out held
    double lse_ln_before = 0.0;
  };

  StaleResults(Run first, Run second);
  static Run made(const reference::AttentionResult& result, const PagedAttentionInputs& inputs,
                  std::uint32_t pattern);

  Run first_;
  Run second_;
};

}  // namespace recto::verify

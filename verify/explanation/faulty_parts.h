#pragma once

// What the oracle gives, with its bounds, where a kernel computes some heads or rows of other
// numbers, other keys or at another position than theirs.

#include <cstdint>
#include <functional>

#include "reference/error_bound.h"
#include "reference/paged_attention.h"
#include "verify/explanation/hypothesis_trial.h"

namespace recto::verify {

// What one query head of one sequence is computed of.
struct HeadParts {
  reference::SequenceRows sequence = {};
  std::int64_t head = 0;
  std::int64_t kv_head = 0;
  reference::Matrix q = {};  // [num_rows, head_dim_k]
  reference::Matrix k = {};  // [context_length, head_dim_k]
  reference::Matrix v = {};  // [context_length, head_dim_v]
  reference::HeadOptions options = {};
};

// Visits each query head of each sequence.
void for_each_head(const PagedAttentionInputs& inputs,
                   const std::function<void(HeadParts&)>& visit);

// Heads whose parts `change` changes, which it says by returning true, are computed of these; the
// others are right.
reference::BoundedResult bounded_heads(const HypothesisTrial& trial,
                                       const reference::KernelNumerics& numerics,
                                       const std::function<bool(HeadParts&)>& change);

// What one row of one head is computed of.
struct RowParts {
  Eigen::RowVectorXd q = {};  // [head_dim_k]
  reference::Matrix k = {};   // [seen, head_dim_k]: of the keys that it sees, and of no other
  reference::Matrix v = {};   // [seen, head_dim_v]
  reference::HeadOptions options = {};  // causal and window say nothing of a row
  std::int64_t first_distance = 0;      // of the first of these keys, to the row
};

// Puts its output and bounds in place of those of row `row` of the batch.
void store_row(const RowParts& parts, const reference::KernelNumerics& numerics, std::int64_t row,
               std::int64_t head, reference::BoundedResult& result);

}  // namespace recto::verify

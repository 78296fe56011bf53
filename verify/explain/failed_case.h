#pragma once

// A case whose result is wrong: the observed results and the right ones.

#include <cstdint>
#include <vector>

#include "reference/error_bound.h"
#include "verify/law.h"

namespace recto::verify {

// A query row of one head, named as in comparisons.
struct HeadRow {
  std::int64_t sequence = 0;
  std::int64_t row = 0;  // within the sequence
  std::int64_t head = 0;
};

// [head_dim_v], of row `row` of the batch.
inline reference::Vector out_of(const reference::AttentionResult& result, std::int64_t row,
                                std::int64_t head) {
  reference::Vector out(result.head_dim);
  for (std::int64_t dim = 0; dim < out.size(); ++dim) out[dim] = result.out_at(row, head, dim);
  return out;
}

// The parts of a row of one head that depend on previous memory contents: they are not written, or
// something is added to them.
struct StaleRow {
  std::vector<std::int64_t> dims = {};  // of out
  bool has_lse_ln = false;
  // True: unchanged memory contents. False: computed from them.
  bool is_unwritten = true;

  bool is_stale() const { return has_lse_ln || !dims.empty(); }
};
using StaleRows = std::vector<StaleRow>;  // [num_rows, num_heads]

// Everything that it refers to must outlive it.
struct FailedCase {
  const PagedAttentionInputs& inputs;
  const reference::AttentionResult& seen;  // lse_ln may be empty: not known
  const reference::BoundedResult& right;
  reference::KernelNumerics numerics;
  BoundKind bound_kind;
  const StaleRows* stale = nullptr;  // null: not known
  std::vector<reference::SequenceRows> sequences = reference::sequences_of(inputs);

  const reference::AttentionResult& bound() const {
    return bound_kind == BoundKind::kWorstCase ? right.worst_case : right.probabilistic;
  }
  std::int64_t group() const { return inputs.q.num_heads / inputs.kv.k.num_kv_heads; }
  const reference::SequenceRows& sequence_of(const HeadRow& at) const {
    return sequences[static_cast<std::size_t>(at.sequence)];
  }
  // Index of the row in the batch.
  std::int64_t row_of(const HeadRow& at) const { return sequence_of(at).first_row + at.row; }
  reference::KeyRange visible_keys(const HeadRow& at) const {
    return reference::visible_keys(reference::head_options(inputs.options, at.head), at.row,
                                   sequence_of(at).num_rows, sequence_of(at).context_length);
  }

  StaleRow stale_at(const HeadRow& at) const {
    if (stale == nullptr) return {};
    return (*stale)[static_cast<std::size_t>(row_of(at) * inputs.q.num_heads + at.head)];
  }

  template <typename Visit>
  void for_each_row(const Visit& visit) const {
    for (HeadRow at; at.sequence < std::ssize(sequences); ++at.sequence)
      for (at.head = 0; at.head < inputs.q.num_heads; ++at.head)
        for (at.row = 0; at.row < sequence_of(at).num_rows; ++at.row) visit(at);
  }
};

}  // namespace recto::verify

#pragma once

// A case whose result is wrong: the observed results and the right ones.

#include <cmath>
#include <cstdint>
#include <vector>

#include "reference/error_bound.h"
#include "reference/online_softmax.h"
#include "verify/law.h"

namespace recto::verify {

// A query row of one head, named as in comparisons.
struct HeadRow {
  std::int64_t sequence = 0;
  std::int64_t row = 0;  // within the sequence
  std::int64_t head = 0;
};

// Row `row` of the batch; its lse_ln is 0 if `result` has none.
inline reference::RowOutput row_output(const reference::AttentionResult& result, std::int64_t row,
                                       std::int64_t head) {
  reference::RowOutput output{.out = reference::Vector(result.head_dim)};
  for (std::int64_t dim = 0; dim < result.head_dim; ++dim)
    output.out[dim] = result.out_at(row, head, dim);
  if (!result.lse_ln.empty()) output.lse_ln = result.lse_ln_at(row, head);
  return output;
}

// Unlike a comparison, accepts NaN for an expected NaN, since a fault may read NaN.
inline bool is_right(const ComparedValues& values) {
  return values.seen == values.expected ||
         (std::isnan(values.seen) && std::isnan(values.expected)) ||
         std::abs(values.seen - values.expected) <= values.bound;
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

  const reference::AttentionResult& bound() const { return bound_of(right, bound_kind); }
  std::int64_t num_kv_heads() const { return inputs.kv.k.num_kv_heads; }
  std::int64_t group() const { return inputs.q.num_heads / num_kv_heads(); }
  const reference::SequenceRows& sequence_of(const HeadRow& at) const {
    return sequences[static_cast<std::size_t>(at.sequence)];
  }
  // Index of the row in the batch.
  std::int64_t row_of(const HeadRow& at) const { return sequence_of(at).first_row + at.row; }
  reference::KeyRange visible_keys(const HeadRow& at) const {
    return reference::visible_keys(reference::head_options(inputs.options, at.head), at.row,
                                   sequence_of(at).num_rows, sequence_of(at).context_length);
  }
  bool is_empty(const HeadRow& at) const { return visible_keys(at).size() == 0; }

  ComparedValues out_at(const HeadRow& at, std::int64_t dim) const {
    const std::int64_t row = row_of(at);
    return {.seen = seen.out_at(row, at.head, dim),
            .expected = right.exact.out_at(row, at.head, dim),
            .bound = bound().out_at(row, at.head, dim)};
  }
  bool has_lse_ln() const { return !seen.lse_ln.empty(); }
  // Requires has_lse_ln().
  ComparedValues lse_ln_at(const HeadRow& at) const {
    const std::int64_t row = row_of(at);
    return {.seen = seen.lse_ln_at(row, at.head),
            .expected = right.exact.lse_ln_at(row, at.head),
            .bound = bound().lse_ln_at(row, at.head)};
  }
  // The numbers of wrong elements of a row: in out, and in out and lse_ln.
  std::int64_t count_wrong_out(const HeadRow& at) const {
    std::int64_t wrong = 0;
    for (std::int64_t dim = 0; dim < seen.head_dim; ++dim)
      wrong += is_right(out_at(at, dim)) ? 0 : 1;
    return wrong;
  }
  std::int64_t count_wrong(const HeadRow& at) const {
    return count_wrong_out(at) + (has_lse_ln() && !is_right(lse_ln_at(at)) ? 1 : 0);
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

#pragma once

// The inputs, options and outputs of attention over a paged cache, and the inputs of operations on
// the cache, as plain fields over the caller's memory. core/attention_gate.h checks them.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/element_type.h"
#include "core/paged_kv_view.h"

namespace recto {

// Rows of heads, such as queries, outputs, or the K of new tokens; a head's dims are contiguous.
template <typename Pointer>
struct BasicRowsView {
  Pointer data = nullptr;  // [num_rows, num_heads, head_dim]
  ElementType type = ElementType::kFp32;
  std::int64_t num_rows = 0;
  std::int64_t num_heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t row_stride = 0;   // elements
  std::int64_t head_stride = 0;  // elements
};

using RowsView = BasicRowsView<const void*>;
using MutableRowsView = BasicRowsView<void*>;

constexpr RowsView as_const(const MutableRowsView& rows) {
  return {.data = rows.data,
          .type = rows.type,
          .num_rows = rows.num_rows,
          .num_heads = rows.num_heads,
          .head_dim = rows.head_dim,
          .row_stride = rows.row_stride,
          .head_stride = rows.head_stride};
}

// Rows without gaps.
template <typename Pointer>
constexpr BasicRowsView<Pointer> dense_rows(Pointer data, ElementType type, std::int64_t num_rows,
                                            std::int64_t num_heads, std::int64_t head_dim) {
  return {.data = data,
          .type = type,
          .num_rows = num_rows,
          .num_heads = num_heads,
          .head_dim = head_dim,
          .row_stride = num_heads * head_dim,
          .head_stride = head_dim};
}

// The options of attention. Row r of m, in a context of n, is at position i = n - m + r:
//
//   s_j = softcap(scale * q.k_j) + alibi_slope * (j - i), for visible j
//   visible: j <= i if causal, and i - window < j if there is a window
//
// `Numbers` holds a number for each query head.
template <typename Numbers>
struct BasicAttentionOptions {
  float scale = 1.0F;
  float softcap = 0.0F;  // cap * tanh(x / cap); 0 turns it off
  bool causal = true;
  std::optional<std::int64_t> window = {};  // keys seen, itself among them; window_left + 1
  Numbers alibi_slopes = {};                // [num_q_heads], or empty
  Numbers sinks = {};  // [num_q_heads], or empty: exp(sink) joins the denominator
};

// A view, which kernels take by value; and options that own their numbers.
using AttentionOptions = BasicAttentionOptions<std::span<const float>>;
using OwnedAttentionOptions = BasicAttentionOptions<std::vector<float>>;

// The same options: a view of owned ones, or a copy that owns the numbers of a view.
template <typename To, typename Numbers>
To options_as(const BasicAttentionOptions<Numbers>& options) {
  return {.scale = options.scale,
          .softcap = options.softcap,
          .causal = options.causal,
          .window = options.window,
          .alibi_slopes = {options.alibi_slopes.begin(), options.alibi_slopes.end()},
          .sinks = {options.sinks.begin(), options.sinks.end()}};
}

// One call: the queries of all sequences, concatenated, against their cached contexts, which
// include the keys of the queries' own tokens.
struct PagedAttentionInputs {
  RowsView q = {};  // [num_query_rows, num_q_heads, k.head_dim]
  PagedKvView kv = {};
  BlockTableView block_table = {};
  // [num_seqs + 1], ascending from 0; empty means one row per sequence.
  std::span<const std::int32_t> query_start = {};
  std::span<const std::int32_t> context_length = {};  // [num_seqs]
  AttentionOptions options = {};
};

// The decode step of engines that keep the newest token outside the cache: one query row per
// sequence, whose own K and V (row s of new_k and new_v) follow the cached ones.
struct DecodeStepInputs {
  RowsView q = {};      // [num_seqs, num_q_heads, k.head_dim]
  RowsView new_k = {};  // [num_seqs, num_kv_heads, k.head_dim]
  RowsView new_v = {};  // [num_seqs, num_kv_heads, v.head_dim]
  PagedKvView kv = {};
  BlockTableView block_table = {};
  std::span<const std::int32_t> cached_length = {};  // [num_seqs]: tokens in the cache
  AttentionOptions options = {};
};

struct AttentionOutputs {
  MutableRowsView out = {};      // [num_query_rows, num_q_heads, v.head_dim], of q's type
  std::span<float> lse_ln = {};  // [num_query_rows, num_q_heads], or empty
};

// New tokens' K and V to be written into the cache, quantised by its scales if it is fp8.
struct KvWriteInputs {
  RowsView k = {};  // [num_tokens, num_kv_heads, k.head_dim]
  RowsView v = {};  // [num_tokens, num_kv_heads, v.head_dim]
  std::span<const std::int64_t> slot_mapping =
      {};  // [num_tokens]: block_id * block_size + offset, or -1
  MutablePagedKvView kv = {};
};

// The contexts of all sequences as contiguous rows, in the cache's own codes: row
// context_start[s] + j is token j of sequence s.
struct GatherInputs {
  PagedKvView kv = {};
  BlockTableView block_table = {};
  std::span<const std::int32_t> context_length = {};  // [num_seqs]
  std::span<const std::int64_t> context_start = {};   // [num_seqs]: first row of each in the output
  MutableRowsView k = {};                             // [rows, num_kv_heads, k.head_dim]
  MutableRowsView v = {};                             // [rows, num_kv_heads, v.head_dim]
};

}  // namespace recto

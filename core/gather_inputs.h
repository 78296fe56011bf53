#pragma once

// The inputs of gathering contexts from a paged cache. core/attention_gate.h checks them.

#include <cstdint>
#include <span>

#include "core/attention_views.h"

namespace recto {

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

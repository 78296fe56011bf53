#pragma once

// Copies the paged contexts of all sequences into contiguous rows.

#include <kernel_dialect.h>

#include <cstdint>

#include "core/attention_views.h"
#include "core/paged_kv_view.h"
#include "core/status.h"

namespace recto::kernels {

// Tables and lengths are in device memory.
struct GatherParams {
  PagedKvView kv = {};  // in any layout, of any type
  BlockTableView block_table = {};
  const std::int32_t* context_length = nullptr;  // [num_seqs]
  const std::int64_t* context_start = nullptr;   // [num_seqs]: first row of each in k and v
  std::int64_t max_context_length = 0;           // at least the longest of them
  MutableRowsView k = {};                        // [rows, num_kv_heads, k.head_dim], of kv's type
  MutableRowsView v = {};                        // [rows, num_kv_heads, v.head_dim]
};

// A thread block gathers 32 tokens of a sequence; a grid has at most 65535 in that dimension.
inline constexpr std::int64_t kGatheredMax = 32 * 65535;

// Invalid input: gathers that are not served.
Status check_gather(const GatherParams& params);

// One thread block for each (sequence, 32 tokens, KV head). Errors as for launch_kv_write().
Status launch_gather(const GatherParams& params, KernelStream stream);

}  // namespace recto::kernels

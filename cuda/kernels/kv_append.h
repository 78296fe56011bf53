#pragma once

// Writes the newest token of each sequence into the cache at the place that its block table gives,
// with rotary embedding applied: the first part of a decode step.

#include <kernel_dialect.h>

#include <cstdint>

#include "core/attention_views.h"
#include "core/paged_kv_view.h"
#include "core/status.h"

namespace recto::kernels {

// Which dims form a pair: p and p + dim / 2 (GPT-NeoX), or 2 p and 2 p + 1 (GPT-J).
enum class RotaryPairing : std::uint8_t { kHalves, kInterleaved };

struct Rotary {
  std::int64_t dim = 0;  // number of leading dims of a head that are rotated; 0: none
  RotaryPairing pairing = RotaryPairing::kHalves;
  // Cosine and sine of each pair's angle at each position: [positions, 1, dim / 2], both of the
  // same type (fp32, fp16 or bf16), in device memory.
  RowsView cosines = {};
  RowsView sines = {};
};

// All pointers are to device memory.
struct KvAppendParams {
  RowsView k = {};  // [num_seqs, num_kv_heads, k.head_dim]
  RowsView v = {};  // [num_seqs, num_kv_heads, v.head_dim]
  BlockTableView block_table = {};
  // [num_seqs]: the position of the new token. Nothing is written into the cache for a sequence
  // whose position is negative (padding), has no block in its table (a negative id, or no column),
  // or is beyond the positions of `rotary`.
  const std::int32_t* cached_length = nullptr;
  MutablePagedKvView kv = {};  // as in kv_write.h
  Rotary rotary = {};          // of k and q
  // [num_seqs, num_q_heads, k.head_dim], of k's type, or null. `rotated_q` may be the same memory;
  // rows without a valid position are copied unchanged.
  RowsView q = {};
  MutableRowsView rotated_q = {};
  // [num_seqs], or null: receives the number of cached tokens after the append, for the attention.
  std::int32_t* context_length = nullptr;
};

// Invalid input: appends that are not served.
Status check_append(const KvAppendParams& params);

// One thread block for each sequence. Invalid input names the field of `params` that is not served;
// a failure is CUDA's. In both cases nothing has been launched.
Status launch_kv_append(const KvAppendParams& params, KernelStream stream);

}  // namespace recto::kernels

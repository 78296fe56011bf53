#pragma once

// Decode attention: one query row for each sequence, against its paged context.

#include <kernel_dialect.h>

#include <cstdint>

#include "core/attention_views.h"
#include "core/paged_kv_view.h"
#include "core/status.h"
#include "cuda/kernels/limits.h"

namespace recto::kernels {

// Larger head dims are refused.
inline constexpr int kHeadDimMax = 256;

// All pointers are to device memory. The views have passed core/attention_gate.h. The query is at
// the position of the last key of the context, so every key is causal.
struct ReferenceDecodeParams {
  RowsView q = {};      // [num_seqs, num_q_heads, k.head_dim], fp32, fp16 or bf16
  PagedKvView kv = {};  // in any layout; of q's type, or e4m3 or e5m2 for fp16 and bf16
  BlockTableView block_table = {};
  const std::int32_t* context_length = nullptr;  // [num_seqs]: at most kContextLengthMax
  AttentionOptions options = {};
  MutableRowsView out = {};  // [num_seqs, num_q_heads, v.head_dim], of q's type
  float* lse_ln = nullptr;   // [num_seqs, num_q_heads], or null
};

// One thread block for each (sequence, query head). Invalid input names the field of `params` that
// the kernel does not serve; a failure is CUDA's. In both cases nothing has been launched.
Status launch_reference_decode(const ReferenceDecodeParams& params, KernelStream stream);

// Invalid input: calls that this kernel and those of split_decode.h do not serve.
Status check_served(const ReferenceDecodeParams& params);

}  // namespace recto::kernels

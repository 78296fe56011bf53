#pragma once

// Attention of several query rows per sequence against their paged context: chunked prompts and
// verification of speculative tokens. The rows' own keys are already in the cache.

#include <kernel_dialect.h>

#include <cstdint>

#include "core/attention_views.h"
#include "core/paged_kv_view.h"
#include "core/status.h"
#include "cuda/kernels/kernel_table.h"
#include "cuda/kernels/reference_decode.h"

namespace recto::kernels {

// All pointers are to device memory. The views have passed core/attention_gate.h.
struct PagedPrefillParams {
  RowsView q = {};  // [num_query_rows, num_q_heads, head_dim], fp32, fp16 or bf16
  PagedKvView kv = {};
  BlockTableView block_table = {};
  const std::int32_t* query_start = nullptr;     // [num_seqs + 1]: first row of each sequence
  const std::int32_t* context_length = nullptr;  // [num_seqs]: including the rows' own tokens
  std::int64_t max_query_length = 0;             // at least the most rows of a sequence
  AttentionOptions options = {};
  MutableRowsView out = {};  // [num_query_rows, num_q_heads, head_dim], of q's type
  float* lse_ln = nullptr;   // [num_query_rows, num_q_heads], or null
};

// One thread block for each 64 rows of a (sequence, KV head), or for each 128 rows where the wide
// kernel serves the call; a query has one row for each head of the group. NaN and infinities of K
// and V reach only the rows that see their key. Invalid input names the field of `params` that is
// not served; a failure is CUDA's. In both cases nothing has been launched.
Status launch_paged_prefill(const PagedPrefillParams& params, KernelStream stream);

// The number of thread blocks per sequence; thread blocks are ordered by sequence.
std::int64_t prefill_blocks_per_sequence(const PagedPrefillParams& params);

// Invalid input: calls that this kernel does not serve, see check_group_served().
Status check_prefill(const PagedPrefillParams& params);

// The instantiations. Each call is served by a row of the first table. If it has the usual cache
// and options, as paged_prefill.cu defines them, the wide kernel computes the same bits faster. On
// a Hopper card, the kernel of paged_prefill_hopper.h takes its place; its tiles are larger, so it
// computes other bits.
KernelTable<PagedPrefillParams> paged_prefill_table();
KernelTable<PagedPrefillParams> wide_prefill_table();

}  // namespace recto::kernels

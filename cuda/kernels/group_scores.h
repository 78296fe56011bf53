#pragma once

// A study of tensor cores. The host API does not use it; it uses gqa_decode.h.
//
// Decode scores on tensor cores: the query heads that share a KV head (a group) against the paged
// keys of their sequence.

#include <kernel_dialect.h>

#include <cstdint>

#include "core/attention_views.h"
#include "core/paged_kv_view.h"
#include "core/status.h"

namespace recto::kernels {

// Larger groups are refused: they would need a second tile of queries.
inline constexpr int kGroupMax = 16;

// All pointers are to device memory. The views have passed core/attention_gate.h.
struct GroupScoresParams {
  RowsView q = {};      // [num_seqs, num_q_heads, head_dim], fp16 or bf16
  KvTensorView k = {};  // token-major or head-major, of q's type
  BlockTableView block_table = {};
  const std::int32_t* context_length = nullptr;  // [num_seqs]
  std::int64_t max_context_length = 0;           // at least the longest of them
  float scale = 1.0F;
  // scale * q.k; elements beyond a context are not written.
  float* scores = nullptr;  // [num_seqs, num_q_heads, max_context_length]
};

// One thread block for each (sequence, KV head). head_dim is a multiple of 16 and at most 256; rows
// of q and k begin at multiples of 16 bytes. Invalid input names the field of `params` that the
// kernel does not serve; a failure is CUDA's. In both cases nothing has been launched.
Status launch_group_scores(const GroupScoresParams& params, KernelStream stream);

// Invalid input: calls that the kernel does not serve.
Status check_served(const GroupScoresParams& params);

}  // namespace recto::kernels

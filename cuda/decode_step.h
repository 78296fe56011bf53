#pragma once

// One decode step: the newest token of each sequence is written into the cache, with rotary
// embedding applied if there is any, and its query attends to the context that ends with it.

#include <kernel_dialect.h>

#include <cstdint>
#include <span>

#include "core/attention_views.h"
#include "core/status.h"
#include "cuda/attention_plan.h"
#include "cuda/kernels/kv_append.h"
#include "cuda/workspace.h"

namespace recto {

// As DecodeStepInputs of core/attention_views.h, except that the cache is written. For a sequence
// with a negative cached_length (padding), the cache is not written and out is 0.
struct DecodeStep {
  RowsView q = {};      // [num_seqs, num_q_heads, k.head_dim]
  RowsView new_k = {};  // [num_seqs, num_kv_heads, k.head_dim]
  RowsView new_v = {};  // [num_seqs, num_kv_heads, v.head_dim]
  MutablePagedKvView kv = {};
  BlockTableView block_table = {};
  std::span<const std::int32_t> cached_length = {};  // [num_seqs]: tokens before this one
  kernels::Rotary rotary = {};                       // of q and new_k
  AttentionOptions options = {};
};

// As plan_attention(), but for run_decode_step(): each context is one token longer than its cached
// part.
Result<AttentionPlan> plan_decode_step(const DecodeStep& step, const PlanOptions& options);

// As run_attention(). Contents are checked before the cache is written, with each new token counted
// in the length of its context.
Status run_decode_step(const AttentionPlan& plan, const DecodeStep& step,
                       const AttentionOutputs& outputs, const Workspace& workspace,
                       KernelStream stream);

}  // namespace recto

#pragma once

// Launches on a GPU as plain functions: each waits until its kernels have run, and returns the
// error. Compiled by nvcc; callers need no CUDA header.

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/attention_views.h"
#include "core/status.h"
#include "cuda/attention_plan.h"
#include "cuda/cache_ops.h"
#include "cuda/decode_step.h"
#include "cuda/kernels/block_copy.h"
#include "cuda/kernels/contents_check.h"
#include "cuda/kernels/gather.h"
#include "cuda/kernels/group_scores.h"
#include "cuda/kernels/kv_append.h"
#include "cuda/kernels/kv_write.h"
#include "cuda/kernels/paged_prefill.h"
#include "cuda/kernels/reference_decode.h"
#include "cuda/kernels/split_decode.h"
#include "cuda/workspace.h"

// function(parameters): calls launch_##function of cuda/kernels.
#define RECTO_GPU_LAUNCHES(each)                                                            \
  each(block_copy, BlockCopyParams) each(tma_decode, SplitDecodeParams)                     \
      each(contents_check, ContentsCheckParams) each(slot_check, SlotCheckParams)           \
          each(pair_check, PairCheckParams) each(scale_check, ScaleCheckParams)             \
              each(row_check, RowCheckParams) each(gather, GatherParams)                    \
                  each(gqa_decode, SplitDecodeParams) each(group_scores, GroupScoresParams) \
                      each(kv_append, KvAppendParams) each(kv_write, KvWriteParams)         \
                          each(reference_decode, ReferenceDecodeParams)                     \
                              each(paged_prefill, PagedPrefillParams)                       \
                                  each(split_decode, SplitDecodeParams)                     \
                                      each(split_merge, SplitDecodeParams)

namespace recto::verify::gpu {

// Why there is no GPU, or null.
const char* why_no_gpu();
// Whether the current device is a Hopper card.
bool is_hopper();
// The sticky error with which every later call fails, or null.
const char* why_lost();

#define RECTO_DECLARE(function, parameters) Status function(const kernels::parameters& params);
RECTO_GPU_LAUNCHES(RECTO_DECLARE)
#undef RECTO_DECLARE

Status attention(const AttentionPlan& plan, const PagedAttentionInputs& inputs,
                 const AttentionOutputs& outputs, const Workspace& workspace);
Status decode_step(const AttentionPlan& plan, const DecodeStep& step,
                   const AttentionOutputs& outputs, const Workspace& workspace);

Status kv_write_call(const KvWriteInputs& inputs, kernels::RepeatedSlots repeated,
                     const CacheOpOptions& options);
Status block_copy_call(const MutablePagedKvView& kv, std::span<const BlockPair> copies,
                       const CacheOpOptions& options);
Status block_swap_call(const PagedKvView& from, const MutablePagedKvView& to,
                       std::span<const BlockPair> copies, const CacheOpOptions& options);
Status gather_call(const GatherInputs& inputs, std::int64_t max_context_length,
                   const CacheOpOptions& options);

// The launches of decode_step() as a CUDA graph.
struct StepGraph {
  void* executable = nullptr;
  std::size_t size = 0;  // nodes
};
// Runs nothing. If the call is refused or cannot be captured, `graph` does not change.
Status capture(const AttentionPlan& plan, const DecodeStep& step, const AttentionOutputs& outputs,
               const Workspace& workspace, StepGraph& graph);
Status replay(const StepGraph& graph);
void destroy(StepGraph& graph);

}  // namespace recto::verify::gpu

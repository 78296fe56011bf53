// Host API calls that take an executor's stream. They ignore it and run on the GPU.

#include "cuda/cache_ops.h"
#include "cuda/decode_step.h"
#include "cuda/paged_attention.h"
#include "verify/kernels/gpu/launches.h"

#include <kernel_dialect.h>

namespace recto {

Status run_attention(const AttentionPlan& plan, const PagedAttentionInputs& inputs,
                     const AttentionOutputs& outputs, const Workspace& workspace,
                     KernelStream /*stream*/) {
  return verify::gpu::attention(plan, inputs, outputs, workspace);
}

Status run_decode_step(const AttentionPlan& plan, const DecodeStep& step,
                       const AttentionOutputs& outputs, const Workspace& workspace,
                       KernelStream /*stream*/) {
  return verify::gpu::decode_step(plan, step, outputs, workspace);
}

Status run_kv_write(const KvWriteInputs& inputs, kernels::RepeatedSlots repeated,
                    const CacheOpOptions& options, KernelStream /*stream*/) {
  return verify::gpu::kv_write_call(inputs, repeated, options);
}

Status run_block_copy(const MutablePagedKvView& kv, std::span<const BlockPair> copies,
                      const CacheOpOptions& options, KernelStream /*stream*/) {
  return verify::gpu::block_copy_call(kv, copies, options);
}

Status run_block_swap(const PagedKvView& from, const MutablePagedKvView& to,
                      std::span<const BlockPair> copies, const CacheOpOptions& options,
                      KernelStream /*stream*/) {
  return verify::gpu::block_swap_call(from, to, copies, options);
}

Status run_gather(const GatherInputs& inputs, std::int64_t max_context_length,
                  const CacheOpOptions& options, KernelStream /*stream*/) {
  return verify::gpu::gather_call(inputs, max_context_length, options);
}

}  // namespace recto

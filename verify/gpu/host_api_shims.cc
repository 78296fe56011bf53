// Calls of the host API with a stream of the executor, which nobody looks at: they run on the GPU.

#include "cuda/decode_step.h"
#include "cuda/paged_attention.h"
#include "verify/gpu/launches.h"

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

}  // namespace recto

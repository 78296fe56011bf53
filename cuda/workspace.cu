#include "cuda/workspace.h"

#include <kernel_dialect.h>

namespace recto {

AttentionMemory take_attention_memory(const AttentionPlan& plan, const PagedAttentionInputs& inputs,
                                      WorkspaceParts& parts) {
  AttentionMemory memory;
  if (plan.contents_check == ContentsCheck::kOnDevice) {
    memory.violation = parts.take<kernels::ContentsViolation>(1);
  }
  if (plan.kernel == AttentionKernel::kPrefill || plan.num_splits == 1) return memory;
  const std::int64_t states = inputs.q.num_rows * inputs.q.num_heads * plan.num_splits;
  memory.states.maximum = parts.take<float>(states);
  memory.states.sum = parts.take<float>(states);
  memory.states.weighted = parts.take<float>(states * inputs.kv.v.head_dim);
  return memory;
}

}  // namespace recto

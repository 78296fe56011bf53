#include "cuda/paged_attention.h"

#include <kernel_dialect.h>

#include "core/attention_gate.h"
#include "cuda/launch.h"

namespace recto {

Status run_attention(const AttentionPlan& plan, const PagedAttentionInputs& inputs,
                     const AttentionOutputs& outputs, const Workspace& workspace,
                     KernelStream stream) {
  RECTO_RETURN_IF_ERROR(check_shapes(inputs, outputs, {.workspace = written_of(workspace)}));
  RECTO_RETURN_IF_ERROR(check_plan(plan, inputs));
  WorkspaceParts parts(workspace.data);
  const AttentionMemory memory = take_attention_memory(plan, inputs, parts);
  RECTO_RETURN_IF_ERROR(check_workspace(workspace, parts.bytes()));
  if (inputs.q.num_rows == 0) return Status::ok();
  if (memory.violation != nullptr) {
    RECTO_RETURN_IF_ERROR(
        check_contents_on_device(contents_params(plan, inputs, memory.violation), stream));
    RECTO_RETURN_IF_ERROR(check_scales_on_device({}, inputs.kv, memory.violation, stream));
  }
  return launch_attention(plan, inputs, outputs, memory, stream);
}

}  // namespace recto

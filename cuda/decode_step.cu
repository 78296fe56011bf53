#include "cuda/decode_step.h"

#include <kernel_dialect.h>

#include "core/attention_gate.h"
#include "core/refusal.h"
#include "cuda/launch.h"

namespace recto {
namespace {

// The workspace parts of one step.
struct StepMemory {
  AttentionMemory attention = {};
  std::int32_t* context_length = nullptr;  // [num_seqs]
  std::byte* rotated_q = nullptr;          // as q, contiguous; null without rotary embedding
};

StepMemory take_step_memory(const AttentionPlan& plan, const DecodeStep& step,
                            const PagedAttentionInputs& inputs, WorkspaceParts& parts) {
  StepMemory memory;
  memory.attention = take_attention_memory(plan, inputs, parts);
  memory.context_length = parts.take<std::int32_t>(step.block_table.num_seqs);
  if (step.rotary.dim > 0) {
    memory.rotated_q = parts.take<std::byte>(step.q.num_rows * step.q.num_heads * step.q.head_dim *
                                             element_bytes(step.q.type));
  }
  return memory;
}

// The inputs before the step: cached_length takes the place of context_length.
PagedAttentionInputs inputs_of(const DecodeStep& step) {
  return {.q = step.q,
          .kv = as_const(step.kv),
          .block_table = step.block_table,
          .context_length = step.cached_length,
          .options = step.options};
}

DecodeStepInputs gate_inputs(const DecodeStep& step) {
  return {.q = step.q,
          .new_k = step.new_k,
          .new_v = step.new_v,
          .kv = as_const(step.kv),
          .block_table = step.block_table,
          .cached_length = step.cached_length,
          .options = step.options};
}

kernels::KvAppendParams append_params(const DecodeStep& step, const StepMemory& memory) {
  kernels::KvAppendParams params = {.k = step.new_k,
                                    .v = step.new_v,
                                    .block_table = step.block_table,
                                    .cached_length = step.cached_length.data(),
                                    .kv = step.kv,
                                    .rotary = step.rotary,
                                    .context_length = memory.context_length};
  if (step.rotary.dim > 0) {
    params.q = step.q;
    params.rotated_q = {.data = memory.rotated_q,
                        .type = step.q.type,
                        .num_rows = step.q.num_rows,
                        .num_heads = step.q.num_heads,
                        .head_dim = step.q.head_dim,
                        .row_stride = step.q.num_heads * step.q.head_dim,
                        .head_stride = step.q.head_dim};
  }
  return params;
}

// The inputs after the append.
PagedAttentionInputs inputs_after(const DecodeStep& step, const kernels::KvAppendParams& append) {
  PagedAttentionInputs inputs = inputs_of(step);
  inputs.context_length = {append.context_length, step.cached_length.size()};
  if (append.rotated_q.data == nullptr) return inputs;
  inputs.q.data = append.rotated_q.data;
  inputs.q.row_stride = append.rotated_q.row_stride;
  inputs.q.head_stride = append.rotated_q.head_stride;
  return inputs;
}

// check(gate) runs the gate of core/ for the step, with or without outputs.
template <typename Check>
Status check_step(const DecodeStep& step, const Workspace& workspace, const Check& check) {
  GateOptions gate = {.step_cache = Access::kWrite, .workspace = written_of(workspace)};
  RECTO_RETURN_IF_ERROR(check(gate));
  RECTO_RETURN_IF_ERROR(kernels::check_append(append_params(step, {})));
  if (step.rotary.dim == 0) return Status::ok();
  // Without rotary.dim, the tables are ignored and may hold anything.
  const NamedRows tables[] = {{"rotary.cosines", step.rotary.cosines},
                              {"rotary.sines", step.rotary.sines}};
  gate.read_rows = tables;
  return check(gate);
}

kernels::ContentsCheckParams contents_before(const AttentionPlan& plan, const DecodeStep& step,
                                             kernels::ContentsViolation* violation) {
  kernels::ContentsCheckParams params = contents_params(plan, inputs_of(step), violation);
  params.added_tokens = 1;
  params.num_positions = step.rotary.dim > 0 ? step.rotary.cosines.num_rows : 0;
  return params;
}

}  // namespace

Result<AttentionPlan> plan_decode_step(const DecodeStep& step, const PlanOptions& options) {
  RECTO_RETURN_IF_ERROR(check_step(
      step, {}, [&](const GateOptions& gate) { return check_shapes(gate_inputs(step), gate); }));
  Result<AttentionPlan> plan = plan_checked(inputs_of(step), options);
  if (!plan.is_ok()) return plan;
  WorkspaceParts parts(nullptr);
  take_step_memory(plan.value(), step, inputs_of(step), parts);
  plan.value().workspace_bytes = parts.bytes();
  return plan;
}

Status run_decode_step(const AttentionPlan& plan, const DecodeStep& step,
                       const AttentionOutputs& outputs, const Workspace& workspace,
                       KernelStream stream) {
  RECTO_RETURN_IF_ERROR(check_step(step, workspace, [&](const GateOptions& gate) {
    return check_shapes(gate_inputs(step), outputs, gate);
  }));
  RECTO_RETURN_IF_ERROR(check_plan(plan, inputs_of(step)));
  WorkspaceParts parts(workspace.data);
  const StepMemory memory = take_step_memory(plan, step, inputs_of(step), parts);
  RECTO_RETURN_IF_ERROR(check_workspace(workspace, parts.bytes()));
  if (step.q.num_rows == 0) return Status::ok();
  if (memory.attention.violation != nullptr) {
    RECTO_RETURN_IF_ERROR(
        check_contents_on_device(contents_before(plan, step, memory.attention.violation), stream));
    RECTO_RETURN_IF_ERROR(
        check_scales_on_device({}, as_const(step.kv), memory.attention.violation, stream));
  }
  const kernels::KvAppendParams append = append_params(step, memory);
  RECTO_RETURN_IF_ERROR(kernels::launch_kv_append(append, stream));
  return launch_attention(plan, inputs_after(step, append), outputs, memory.attention, stream);
}

}  // namespace recto

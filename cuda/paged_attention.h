#pragma once

// Attention over a paged cache on a GPU: views and options in, status out.
//
//   const Result<AttentionPlan> plan = plan_attention(inputs, {.max_context_length = 8192});
//   ... memory for plan.value().workspace_bytes, once ...
//   const Status status = run_attention(plan.value(), inputs, outputs, workspace, stream);
//
// A call only launches kernels: it does not wait, allocate, or read device memory on the host, so
// it can be captured in a graph. All pointers of inputs and outputs, including spans, are to device
// memory.

#include <kernel_dialect.h>

#include "core/attention_views.h"
#include "core/status.h"
#include "cuda/attention_plan.h"
#include "cuda/workspace.h"

namespace recto {

// Writes out and lse_ln of all query rows, in stream order. Nothing is launched unless everything
// that the host can check is valid:
//   invalid input  shapes, types, strides, overlaps and options (core/attention_gate.h); what the
//                  plan's kernel does not serve; a workspace that is too small or misaligned
//   failed         CUDA refuses a launch; the message is CUDA's
// With ContentsCheck::kOnDevice, contents are checked too, and the call waits for the stream.
Status run_attention(const AttentionPlan& plan, const PagedAttentionInputs& inputs,
                     const AttentionOutputs& outputs, const Workspace& workspace,
                     KernelStream stream);

}  // namespace recto

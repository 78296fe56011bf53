#pragma once

// What calls have in common once their shapes have passed the gates. For the host API only.

#include <kernel_dialect.h>

#include <cstddef>
#include <span>

#include "core/attention_views.h"
#include "core/status.h"
#include "core/view_gate.h"
#include "cuda/attention_plan.h"
#include "cuda/workspace.h"

namespace recto {

// For gates: what a call may write of its own, where there is such memory at all.
std::span<std::byte> written_of(const Workspace& workspace);

// Whether there are so many bytes at an aligned address.
Status check_workspace(const Workspace& workspace, std::int64_t bytes);

// What a plan and the shapes of a call say of the check.
kernels::ContentsCheckParams contents_params(const AttentionPlan& plan,
                                             const PagedAttentionInputs& inputs,
                                             kernels::ContentsViolation* violation);

// What a check has written. Waits for the stream.
Result<kernels::ContentsViolation> found_on_device(const kernels::ContentsViolation* violation,
                                                   KernelStream stream);

// Waits for the stream. Invalid input names the first sequence and rule; `longest` is what contexts
// are held against.
Status check_contents_on_device(const kernels::ContentsCheckParams& params, KernelStream stream,
                                const char* longest = "plan.max_context_length");

// The scales of a cache, likewise.
Status check_scales_on_device(const KvNames& names, const PagedKvView& kv,
                              kernels::ContentsViolation* violation, KernelStream stream);

// Of inputs that have passed the gate.
Result<AttentionPlan> plan_checked(const PagedAttentionInputs& inputs, const PlanOptions& options);

// Of what has been checked.
Status launch_attention(const AttentionPlan& plan, const PagedAttentionInputs& inputs,
                        const AttentionOutputs& outputs, const AttentionMemory& memory,
                        KernelStream stream);

}  // namespace recto

#pragma once

// The steps that calls share after their shapes have passed the gates. Only for the host API.

#include <kernel_dialect.h>

#include <cstddef>
#include <span>

#include "core/attention_views.h"
#include "core/status.h"
#include "core/view_gate.h"
#include "cuda/attention_plan.h"
#include "cuda/workspace.h"

namespace recto {

// The workspace memory that a call may write, for gates; empty if there is none.
std::span<std::byte> written_of(const Workspace& workspace);

// Checks that the workspace has at least `bytes` bytes at an aligned address.
Status check_workspace(const Workspace& workspace, std::int64_t bytes);

// Parameters of the contents check that follow from a plan and the shapes of a call.
kernels::ContentsCheckParams contents_params(const AttentionPlan& plan,
                                             const PagedAttentionInputs& inputs,
                                             kernels::ContentsViolation* violation);

// Reads back the result of a check. Waits for the stream.
Result<kernels::ContentsViolation> found_on_device(const kernels::ContentsViolation* violation,
                                                   KernelStream stream);

// Waits for the stream. Invalid input names the first violating sequence and the rule it violates;
// `longest` names the limit that contexts are compared with.
Status check_contents_on_device(const kernels::ContentsCheckParams& params, KernelStream stream,
                                const char* longest = "plan.max_context_length");

// As check_contents_on_device(), for the scales of a cache.
Status check_scales_on_device(const KvNames& names, const PagedKvView& kv,
                              kernels::ContentsViolation* violation, KernelStream stream);

// As plan_attention(), for inputs that have passed the gate.
Result<AttentionPlan> plan_checked(const PagedAttentionInputs& inputs, const PlanOptions& options);

// Launches a call that has been checked.
Status launch_attention(const AttentionPlan& plan, const PagedAttentionInputs& inputs,
                        const AttentionOutputs& outputs, const AttentionMemory& memory,
                        KernelStream stream);

}  // namespace recto

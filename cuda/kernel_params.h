#pragma once

// Converts the views of core/ to the parameters of kernels.

#include <kernel_dialect.h>

#include "core/attention_views.h"
#include "cuda/attention_plan.h"
#include "cuda/kernels/paged_prefill.h"
#include "cuda/kernels/split_decode.h"

namespace recto {

// Fills in all fields but the states. `outputs` may lack memory when a kernel's gate is called.
kernels::SplitDecodeParams decode_params(const AttentionPlan& plan,
                                         const PagedAttentionInputs& inputs,
                                         const AttentionOutputs& outputs);
kernels::PagedPrefillParams prefill_params(const AttentionPlan& plan,
                                           const PagedAttentionInputs& inputs,
                                           const AttentionOutputs& outputs);

}  // namespace recto

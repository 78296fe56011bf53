#include "cuda/kernel_params.h"

#include <kernel_dialect.h>

namespace recto {

kernels::SplitDecodeParams decode_params(const AttentionPlan& plan,
                                         const PagedAttentionInputs& inputs,
                                         const AttentionOutputs& outputs) {
  return {.decode = {.q = inputs.q,
                     .kv = inputs.kv,
                     .block_table = inputs.block_table,
                     .context_length = inputs.context_length.data(),
                     .options = inputs.options,
                     .out = outputs.out,
                     .lse_ln = outputs.lse_ln.empty() ? nullptr : outputs.lse_ln.data()},
          .split_rule = plan.split_rule,
          .split_size = plan.split_size,
          .num_splits = plan.num_splits};
}

kernels::PagedPrefillParams prefill_params(const AttentionPlan& plan,
                                           const PagedAttentionInputs& inputs,
                                           const AttentionOutputs& outputs) {
  return {.q = inputs.q,
          .kv = inputs.kv,
          .block_table = inputs.block_table,
          .query_start = inputs.query_start.data(),
          .context_length = inputs.context_length.data(),
          .max_query_length = plan.max_query_length,
          .options = inputs.options,
          .out = outputs.out,
          .lse_ln = outputs.lse_ln.empty() ? nullptr : outputs.lse_ln.data()};
}

}  // namespace recto

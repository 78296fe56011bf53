#include "cuda/kernel_params.h"

#include <kernel_dialect.h>

#include <span>

namespace recto {
namespace {

const float* data_or_null(std::span<const float> values) {
  return values.empty() ? nullptr : values.data();
}

kernels::DecodeOptions options_of(const AttentionOptions& options) {
  return {.scale = options.scale,
          .softcap = options.softcap,
          .window = options.window.value_or(kernels::kNoWindow),
          .alibi_slopes = data_or_null(options.alibi_slopes),
          .sinks = data_or_null(options.sinks)};
}

}  // namespace

kernels::SplitDecodeParams decode_params(const AttentionPlan& plan,
                                         const PagedAttentionInputs& inputs,
                                         const AttentionOutputs& outputs) {
  return {.decode = {.q = inputs.q,
                     .kv = inputs.kv,
                     .block_table = inputs.block_table,
                     .context_length = inputs.context_length.data(),
                     .options = options_of(inputs.options),
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
          .mask = inputs.options.causal ? kernels::Mask::kCausal : kernels::Mask::kNone,
          .options = options_of(inputs.options),
          .out = outputs.out,
          .lse_ln = outputs.lse_ln.empty() ? nullptr : outputs.lse_ln.data()};
}

}  // namespace recto

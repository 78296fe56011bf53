// The host API and its kernels, as nvcc compiles them, as a kernel library: what a GPU would run,
// on the executor of verify/ptx.

#include <recto_cuda_adapter.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>

#include "core/attention_views.h"
#include "cuda/cache_ops.h"
#include "cuda/kernels/paged_prefill_hopper.h"
#include "cuda/paged_attention.h"

namespace recto {
namespace kernels {

// Prefill for Hopper cards is left out: its tensor maps are the driver's.
bool serves_on_hopper(const PagedPrefillParams& /*params*/) { return false; }
Status launch_paged_prefill_hopper(const PagedPrefillParams& /*params*/, KernelStream /*stream*/) {
  return Status::failed("prefill for Hopper cards: expected a library that has it");
}

}  // namespace kernels

namespace {

template <typename View, typename Rows>
View rows_of(const Rows& rows) {
  return {.data = rows.data,
          .type = static_cast<ElementType>(rows.type),
          .num_rows = rows.num_rows,
          .num_heads = rows.num_heads,
          .head_dim = rows.head_dim,
          .row_stride = rows.row_stride,
          .head_stride = rows.head_stride};
}

template <typename View, typename Tensor>
View cache_of(const Tensor& cache) {
  return {.data = cache.data,
          .type = static_cast<ElementType>(cache.type),
          .layout = static_cast<KvLayout>(cache.layout),
          .num_blocks = cache.num_blocks,
          .block_size = cache.block_size,
          .num_kv_heads = cache.num_kv_heads,
          .head_dim = cache.head_dim,
          .block_stride = cache.block_stride,
          .head_stride = cache.head_stride,
          .slot_stride = cache.slot_stride,
          .pack_width = cache.pack_width,
          .pack_stride = cache.pack_stride,
          .scale = {static_cast<ScaleKind>(cache.scale_kind), cache.scale}};
}

template <typename T>
std::span<T> list(T* data, std::int64_t count) {
  return data == nullptr ? std::span<T>() : std::span<T>(data, static_cast<std::size_t>(count));
}

PagedAttentionInputs inputs_of(const RectoAttentionCall& call) {
  PagedAttentionInputs inputs;
  inputs.q = rows_of<RowsView>(call.q);
  inputs.kv = {cache_of<KvTensorView>(call.k), cache_of<KvTensorView>(call.v)};
  inputs.block_table = {call.block_table, call.num_seqs, call.max_blocks,
                        call.block_table_row_stride};
  inputs.query_start = list(call.query_start, call.num_seqs + 1);
  inputs.context_length = list(call.context_length, call.num_seqs);
  inputs.options.scale = call.scale;
  inputs.options.softcap = call.softcap;
  inputs.options.causal = call.causal != 0;
  if (call.window > 0) inputs.options.window = call.window;
  inputs.options.alibi_slopes = list(call.alibi_slopes, call.q.num_heads);
  inputs.options.sinks = list(call.sinks, call.q.num_heads);
  return inputs;
}

// For the messages of run(), which fail the case.
void expect(const Status& status) {
  if (!status.is_ok()) throw std::runtime_error(status.message());
}

std::int32_t attention(const RectoAttentionCall* call) {
  const PagedAttentionInputs inputs = inputs_of(*call);
  const Result<AttentionPlan> plan = plan_attention(
      inputs, {.max_context_length = std::max<std::int64_t>(1, call->max_context_length),
               .max_query_length = std::max<std::int64_t>(1, call->max_query_length)});
  if (!plan.is_ok()) return unsupported(call->context, plan.status().message());
  CheckedCall checked(*call);
  const Workspace workspace = {
      .data = checked.workspace<std::byte>("workspace", plan.value().workspace_bytes),
      .bytes = plan.value().workspace_bytes};
  const AttentionOutputs outputs = {
      .out = rows_of<MutableRowsView>(call->out),
      .lse_ln = list(call->lse_ln, call->q.num_rows * call->q.num_heads)};
  return checked.run(
      [&] { expect(run_attention(plan.value(), inputs, outputs, workspace, nullptr)); });
}

std::int32_t kv_write(const RectoKvWriteCall* call) {
  const KvWriteInputs inputs = {.k = rows_of<RowsView>(call->k),
                                .v = rows_of<RowsView>(call->v),
                                .slot_mapping = list(call->slot_mapping, call->num_tokens),
                                .kv = {cache_of<MutableKvTensorView>(call->k_cache),
                                       cache_of<MutableKvTensorView>(call->v_cache)}};
  CheckedCall checked(*call);
  return checked.run(
      [&] { expect(run_kv_write(inputs, kernels::RepeatedSlots::kNone, {}, nullptr)); });
}

}  // namespace
}  // namespace recto

const RectoKernelTable* recto_kernel_table() {
  static const RectoKernelTable kTable = {.struct_bytes = sizeof(RectoKernelTable),
                                          .abi_major = RECTO_KERNEL_ABI_MAJOR,
                                          .abi_minor = RECTO_KERNEL_ABI_MINOR,
                                          .name = "recto-nvcc",
                                          .memories = kRectoHostMemory,
                                          .reserved = 0,
                                          .decode = recto::attention,
                                          .prefill = recto::attention,
                                          .kv_write = recto::kv_write,
                                          .features = 0};
  return &kTable;
}

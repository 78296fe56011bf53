#include "verify/kernel_cache_ops.h"

#include <algorithm>
#include <cstdint>

#include "cuda/kernels/block_copy.h"
#include "cuda/kernels/gather.h"
#include "cuda/kernels/kv_append.h"
#include "cuda/kernels/kv_write.h"

namespace recto::verify {
void write_kv_by_kernel(const KernelRun& how, const KvWriteInputs& inputs) {
  simt::Executor executor(how.executor);
  DeviceCall call(executor);
  call.add_read("k", inputs.k);
  call.add_read("v", inputs.v);
  call.add_read("slot_mapping", inputs.slot_mapping);
  call.add_write(inputs.kv);
  const kernels::KvWriteParams params{
      .k = inputs.k, .v = inputs.v, .slot_mapping = inputs.slot_mapping.data(), .kv = inputs.kv};
  call.run(how.observer, [&params](simt::Stream& stream) {
    return kernels::launch_kv_write(params, &stream).error;
  });
}

void copy_blocks_by_kernel(const KernelRun& how, const MutablePagedKvView& kv,
                           std::span<const BlockPair> pairs) {
  simt::Executor executor(how.executor);
  DeviceCall call(executor);
  call.add_write(kv);
  call.add_read("pairs", pairs);
  const kernels::BlockCopyParams params{
      .from = as_const(kv), .to = kv, .pairs = pairs.data(), .num_pairs = std::ssize(pairs)};
  call.run(how.observer, [&params](simt::Stream& stream) {
    return kernels::launch_block_copy(params, &stream).error;
  });
}

void swap_blocks_by_kernel(const KernelRun& how, const PagedKvView& from,
                           const MutablePagedKvView& to, std::span<const BlockPair> pairs) {
  simt::Executor executor(how.executor);
  DeviceCall call(executor);
  call.add_read("from", from);
  call.add_write(to);
  call.add_read("pairs", pairs);
  const kernels::BlockCopyParams params{
      .from = from, .to = to, .pairs = pairs.data(), .num_pairs = std::ssize(pairs)};
  call.run(how.observer, [&params](simt::Stream& stream) {
    return kernels::launch_block_copy(params, &stream).error;
  });
}

void append_kv_by_kernel(const KernelRun& how, const kernels::KvAppendParams& params) {
  const auto num_seqs = static_cast<std::size_t>(params.k.num_rows);
  simt::Executor executor(how.executor);
  DeviceCall call(executor);
  call.add_read("k", params.k);
  call.add_read("v", params.v);
  call.add_read("block_table", params.block_table);
  call.add_read("cached_length", std::span(params.cached_length, num_seqs));
  call.add_write(params.kv);
  call.add_read("cosines", params.rotary.cosines);
  call.add_read("sines", params.rotary.sines);
  if (params.rotated_q.data == params.q.data) {
    call.add_update("q", params.rotated_q);
  } else {
    call.add_read("q", params.q);
    call.add_write("rotated_q", params.rotated_q);
  }
  if (params.context_length != nullptr) {
    call.add_write("context_length", std::span(params.context_length, num_seqs));
  }
  call.run(how.observer, [&params](simt::Stream& stream) {
    return kernels::launch_kv_append(params, &stream).error;
  });
}

void gather_kv_by_kernel(const KernelRun& how, const GatherInputs& inputs) {
  simt::Executor executor(how.executor);
  DeviceCall call(executor);
  kernels::GatherParams params{.kv = inputs.kv,
                               .block_table = inputs.block_table,
                               .context_length = inputs.context_length.data(),
                               .context_start = inputs.context_start.data(),
                               .k = inputs.k,
                               .v = inputs.v};
  for (const std::int32_t length : inputs.context_length) {
    params.max_context_length = std::max<std::int64_t>(params.max_context_length, length);
  }
  // A thread block gathers one token at least.
  call.add_contexts(
      inputs.kv, inputs.block_table, inputs.context_length,
      inputs.block_table.num_seqs * params.max_context_length * inputs.kv.k.num_kv_heads);
  call.add_read("context_start", inputs.context_start);
  call.add_write("k", inputs.k);
  call.add_write("v", inputs.v);
  call.run(how.observer, [&params](simt::Stream& stream) {
    return kernels::launch_gather(params, &stream).error;
  });
}

}  // namespace recto::verify

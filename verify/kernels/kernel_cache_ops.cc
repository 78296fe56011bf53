#include "verify/kernels/kernel_cache_ops.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "cuda/kernels/block_copy.h"
#include "cuda/kernels/gather.h"
#include "cuda/kernels/kv_append.h"
#include "cuda/kernels/kv_write.h"

namespace recto::verify {
namespace {

// The block of each sequence's new token, if its table has one.
std::vector<std::vector<std::int64_t>> blocks_of_new_tokens(const kernels::KvAppendParams& params) {
  const BlockTableView& table = params.block_table;
  std::vector<std::vector<std::int64_t>> blocks(static_cast<std::size_t>(params.k.num_rows));
  for (std::int64_t sequence = 0; sequence < params.k.num_rows; ++sequence) {
    const std::int64_t position = params.cached_length[sequence];
    const std::int64_t column = position / params.kv.k.block_size;
    if (position < 0 || column >= table.max_blocks) continue;
    const std::int32_t block = table.data[sequence * table.row_stride + column];
    if (block >= 0) blocks[static_cast<std::size_t>(sequence)].push_back(block);
  }
  return blocks;
}

}  // namespace

void write_kv_by_kernel(const KernelRun& how, const KvWriteInputs& inputs,
                        kernels::RepeatedSlots repeated) {
  simt::Executor executor(how.executor);
  DeviceCall call(executor);
  call.add_read("k", inputs.k);
  call.add_read("v", inputs.v);
  call.add_read("slot_mapping", inputs.slot_mapping);
  // A thread block writes one token, or nothing if the token has no slot.
  std::vector<std::vector<std::int64_t>> blocks;
  for (const std::int64_t slot : inputs.slot_mapping) {
    blocks.push_back(slot < 0 ? std::vector<std::int64_t>()
                              : std::vector{slot / inputs.kv.k.block_size});
  }
  call.add_write(inputs.kv, blocks, owners_in_turn(std::ssize(blocks), std::ssize(blocks)));
  const kernels::KvWriteParams params{.k = inputs.k,
                                      .v = inputs.v,
                                      .slot_mapping = inputs.slot_mapping.data(),
                                      .repeated_slots = repeated,
                                      .kv = inputs.kv};
  call.run(how.observer,
           [&params](simt::Stream& stream) { return kernels::launch_kv_write(params, &stream); });
}

void copy_blocks_by_kernel(const KernelRun& how, const MutablePagedKvView& kv,
                           std::span<const BlockPair> pairs) {
  simt::Executor executor(how.executor);
  DeviceCall call(executor);
  std::vector<std::vector<std::int64_t>> blocks;
  for (const BlockPair& pair : pairs) blocks.push_back({pair.source, pair.destination});
  // A thread block copies one head of a pair.
  call.add_write(kv, blocks,
                 owners_in_turn(std::ssize(pairs) * kv.k.num_kv_heads, std::ssize(pairs)));
  call.add_read("pairs", pairs);
  const kernels::BlockCopyParams params{
      .from = as_const(kv), .to = kv, .pairs = pairs.data(), .num_pairs = std::ssize(pairs)};
  call.run(how.observer,
           [&params](simt::Stream& stream) { return kernels::launch_block_copy(params, &stream); });
}

void swap_blocks_by_kernel(const KernelRun& how, const PagedKvView& from,
                           const MutablePagedKvView& to, std::span<const BlockPair> pairs) {
  simt::Executor executor(how.executor);
  DeviceCall call(executor);
  // A thread block copies one head of a pair.
  const BlockOwners owners =
      owners_in_turn(std::ssize(pairs) * to.k.num_kv_heads, std::ssize(pairs));
  std::vector<std::vector<std::int64_t>> sources;
  std::vector<std::vector<std::int64_t>> destinations;
  for (const BlockPair& pair : pairs) {
    sources.push_back({pair.source});
    destinations.push_back({pair.destination});
  }
  call.add_read("from", from, sources, owners);
  call.add_write(to, destinations, owners);
  call.add_read("pairs", pairs);
  const kernels::BlockCopyParams params{
      .from = from, .to = to, .pairs = pairs.data(), .num_pairs = std::ssize(pairs)};
  call.run(how.observer,
           [&params](simt::Stream& stream) { return kernels::launch_block_copy(params, &stream); });
}

void append_kv_by_kernel(const KernelRun& how, const kernels::KvAppendParams& params) {
  const auto num_seqs = static_cast<std::size_t>(params.k.num_rows);
  simt::Executor executor(how.executor);
  DeviceCall call(executor);
  call.add_read("k", params.k);
  call.add_read("v", params.v);
  call.add_read("block_table", params.block_table);
  call.add_read("cached_length", std::span(params.cached_length, num_seqs));
  call.add_write(params.kv, blocks_of_new_tokens(params),
                 owners_in_turn(params.k.num_rows, params.k.num_rows));
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
  call.run(how.observer,
           [&params](simt::Stream& stream) { return kernels::launch_kv_append(params, &stream); });
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
  // A thread block gathers at least one token.
  call.add_contexts(inputs.kv, inputs.block_table, inputs.context_length,
                    owners_in_turn(inputs.block_table.num_seqs * params.max_context_length *
                                       inputs.kv.k.num_kv_heads,
                                   inputs.block_table.num_seqs));
  call.add_read("context_start", inputs.context_start);
  call.add_write("k", inputs.k);
  call.add_write("v", inputs.v);
  call.run(how.observer,
           [&params](simt::Stream& stream) { return kernels::launch_gather(params, &stream); });
}

}  // namespace recto::verify

// What moves K and V about: writing new tokens, copying blocks, gathering contexts.

#include <benchmark/benchmark.h>

#include <cstdint>
#include <numeric>
#include <vector>

#include "cuda/bench/attention_batch.h"
#include "cuda/bench/measured.h"
#include "cuda/kernels/block_copy.h"
#include "cuda/kernels/gather.h"
#include "cuda/kernels/kv_write.h"

namespace recto::bench {
namespace {

constexpr KvLayout kLayouts[] = {KvLayout::kTokenMajor, KvLayout::kHeadMajor, KvLayout::kPacked};

BatchShape shape_of(benchmark::State& state) {
  BatchShape shape = {.num_seqs = 16, .context_length = 4096};
  shape.layout = kLayouts[state.range(0)];
  shape.block_size = state.range(1);
  state.SetLabel(kv_layout_name(shape.layout));
  return shape;
}

template <typename Pointer>
BasicRowsView<Pointer> token_rows(const BatchShape& shape, const DeviceBytes& memory) {
  return {.data = memory.data(),
          .type = shape.kv_type,
          .num_rows = shape.num_seqs * shape.context_length,
          .num_heads = shape.num_kv_heads,
          .head_dim = shape.head_dim,
          .row_stride = shape.num_kv_heads * shape.head_dim,
          .head_stride = shape.head_dim};
}

bool is_ready(benchmark::State& state, const AttentionBatch& batch) {
  if (batch.status().is_ok()) return true;
  state.SkipWithError(("SKIPPED: " + batch.status().message()).c_str());
  return false;
}

void kv_write(benchmark::State& state) {
  if (!has_gpu(state)) return;
  const BatchShape shape = shape_of(state);
  const AttentionBatch batch(shape);
  if (!is_ready(state, batch)) return;
  const auto half = static_cast<std::int64_t>(shape.kv_bytes() / 2);
  const DeviceBytes k(half);
  const DeviceBytes v(half);
  std::vector<std::int64_t> slots(static_cast<std::size_t>(shape.num_seqs * shape.context_length));
  std::iota(slots.begin(), slots.end(), 0);
  const DeviceBytes mapping(static_cast<std::int64_t>(slots.size()) * 8);
  const Status uploaded = upload(mapping, slots.data(), mapping.bytes());
  const kernels::KvWriteParams params = {
      .k = token_rows<const void*>(shape, k),
      .v = token_rows<const void*>(shape, v),
      .slot_mapping = static_cast<const std::int64_t*>(mapping.data()),
      .repeated_slots = kernels::RepeatedSlots::kNone,
      .kv = batch.kv()};
  measure(state, {.bytes = 2 * shape.kv_bytes() + 8 * static_cast<double>(slots.size())}, [&] {
    RECTO_RETURN_IF_ERROR(uploaded);
    return kernels::launch_kv_write(params, nullptr);
  });
}

void gather(benchmark::State& state) {
  if (!has_gpu(state)) return;
  const BatchShape shape = shape_of(state);
  const AttentionBatch batch(shape);
  if (!is_ready(state, batch)) return;
  const auto half = static_cast<std::int64_t>(shape.kv_bytes() / 2);
  const DeviceBytes k(half);
  const DeviceBytes v(half);
  std::vector<std::int64_t> starts;
  for (std::int64_t s = 0; s < shape.num_seqs; ++s) starts.push_back(s * shape.context_length);
  const DeviceBytes first(8 * shape.num_seqs);
  const Status uploaded = upload(first, starts.data(), first.bytes());
  const PagedAttentionInputs inputs = batch.inputs();
  const kernels::GatherParams params = {
      .kv = inputs.kv,
      .block_table = inputs.block_table,
      .context_length = inputs.context_length.data(),
      .context_start = static_cast<const std::int64_t*>(first.data()),
      .max_context_length = shape.context_length,
      .k = token_rows<void*>(shape, k),
      .v = token_rows<void*>(shape, v)};
  measure(state, {.bytes = 2 * shape.kv_bytes()}, [&] {
    RECTO_RETURN_IF_ERROR(uploaded);
    return kernels::launch_gather(params, nullptr);
  });
}

void block_copy(benchmark::State& state) {
  if (!has_gpu(state)) return;
  const BatchShape shape = shape_of(state);
  const AttentionBatch from(shape);
  const AttentionBatch to(shape);
  if (!is_ready(state, from) || !is_ready(state, to)) return;
  std::vector<BlockPair> pairs;
  const auto blocks = static_cast<std::int32_t>(from.kv().k.num_blocks);
  for (std::int32_t id = 0; id < blocks; ++id) pairs.push_back({id, blocks - 1 - id});
  const DeviceBytes copied(static_cast<std::int64_t>(pairs.size() * sizeof(BlockPair)));
  const Status uploaded = upload(copied, pairs.data(), copied.bytes());
  const kernels::BlockCopyParams params = {.from = as_const(from.kv()),
                                           .to = to.kv(),
                                           .pairs = static_cast<const BlockPair*>(copied.data()),
                                           .num_pairs = static_cast<std::int64_t>(pairs.size())};
  measure(state, {.bytes = 2 * shape.kv_bytes()}, [&] {
    RECTO_RETURN_IF_ERROR(uploaded);
    return kernels::launch_block_copy(params, nullptr);
  });
}

void all_layouts(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"layout", "block_size"})->UseManualTime()->Unit(benchmark::kMicrosecond);
  for (std::int64_t layout = 0; layout < 3; ++layout) {
    for (const std::int64_t block_size : {16, 256}) benchmark->Args({layout, block_size});
  }
}
BENCHMARK(kv_write)->Apply(all_layouts);
BENCHMARK(gather)->Apply(all_layouts);
BENCHMARK(block_copy)->Apply(all_layouts);

}  // namespace
}  // namespace recto::bench

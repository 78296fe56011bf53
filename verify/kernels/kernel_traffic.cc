#include "verify/kernels/kernel_traffic.h"

#include <fmt/format.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <numeric>
#include <utility>

#include "core/attention_views.h"
#include "core/batch.h"
#include "core/contract.h"
#include "core/dense_kv_view.h"
#include "core/units.h"
#include "verify/kernels/kernel_cache_ops.h"
#include "verify/kernels/kernel_calls.h"
#include "verify/simt/counters/access_counter.h"

namespace recto::verify {
namespace {

constexpr std::int64_t kSplits = 4;

std::size_t as_size(std::int64_t value) { return static_cast<std::size_t>(value); }

std::int64_t blocks_per_seq(const TrafficShape& shape) {
  return ceil_div(shape.context_length, shape.block_size);
}

// Zeros; aligned_heap.cc aligns them.
using DeviceBytes = std::vector<std::byte>;

// Pools of zeros, filled by the batch, with scattered blocks.
BatchLayout layout_of(const TrafficShape& shape) {
  const KvPoolShape pool = {.layout = shape.layout,
                            .type = shape.kv_type,
                            .num_blocks = shape.num_seqs * blocks_per_seq(shape),
                            .block_size = shape.block_size,
                            .num_kv_heads = shape.num_kv_heads,
                            .head_dim_k = shape.head_dim,
                            .head_dim_v = shape.head_dim};
  BatchLayout layout = {
      .q = dense_rows<const void*>(nullptr, shape.q_type, 0, shape.num_q_heads, shape.head_dim),
      .kv = as_const(dense_kv_view(pool, nullptr, nullptr).value()),
      .sequences = std::vector<BatchSequence>(as_size(shape.num_seqs),
                                              {shape.rows_per_seq, shape.context_length})};
  give_blocks(layout.sequences, shape.block_size, scattered_ids(pool.num_blocks));
  if (is_fp8(shape.kv_type)) layout.k_scales = layout.v_scales = {1.0F};
  return layout;
}

struct TrafficBatch : Batch {
  explicit TrafficBatch(const TrafficShape& of) : Batch(layout_of(of)), shape(of) {}

  std::int64_t num_tokens() const { return shape.num_seqs * shape.context_length; }

  template <typename Pointer>
  BasicRowsView<Pointer> token_rows(DeviceBytes& memory, ElementType type) const {
    memory.resize(
        as_size(num_tokens() * shape.num_kv_heads * shape.head_dim * element_bytes(type)));
    return dense_rows<Pointer>(memory.data(), type, num_tokens(), shape.num_kv_heads,
                               shape.head_dim);
  }

  TrafficShape shape;
};

void run_write(const TrafficBatch& batch, const KernelRun& how) {
  DeviceBytes new_k;
  DeviceBytes new_v;
  std::vector<std::int64_t> slots(as_size(batch.num_tokens()));
  std::iota(slots.begin(), slots.end(), 0);
  write_kv_by_kernel(how,
                     {.k = batch.token_rows<const void*>(new_k, batch.shape.q_type),
                      .v = batch.token_rows<const void*>(new_v, batch.shape.q_type),
                      .slot_mapping = slots,
                      .kv = batch.kv},
                     kernels::RepeatedSlots::kNone);
}

void run_append(const TrafficBatch& batch, const KernelRun& how) {
  DeviceBytes new_k;
  DeviceBytes new_v;
  RowsView k = batch.token_rows<const void*>(new_k, batch.shape.q_type);
  RowsView v = batch.token_rows<const void*>(new_v, batch.shape.q_type);
  k.num_rows = v.num_rows = batch.shape.num_seqs;
  std::vector<std::int32_t> cached = batch.lists.context_length;
  for (std::int32_t& length : cached) --length;
  append_kv_by_kernel(how, {.k = k,
                            .v = v,
                            .block_table = batch.inputs.block_table,
                            .cached_length = cached.data(),
                            .kv = batch.kv});
}

void run_copy(const TrafficBatch& batch, const KernelRun& how) {
  const auto half = static_cast<std::int32_t>(batch.kv.k.num_blocks / 2);
  std::vector<BlockPair> pairs;
  for (std::int32_t id = 0; id < half; ++id) pairs.push_back({id, half + id});
  copy_blocks_by_kernel(how, batch.kv, pairs);
}

void run_swap(const TrafficBatch& batch, const KernelRun& how) {
  KvPools target = batch.pools;
  std::vector<BlockPair> pairs;
  for (std::int32_t id = 0; id < static_cast<std::int32_t>(batch.kv.k.num_blocks); ++id) {
    pairs.push_back({id, id});
  }
  swap_blocks_by_kernel(how, as_const(batch.kv), target.over(batch.inputs.kv), pairs);
}

void run_gather(const TrafficBatch& batch, const KernelRun& how) {
  DeviceBytes k;
  DeviceBytes v;
  std::vector<std::int64_t> starts;
  for (std::int64_t s = 0; s < batch.shape.num_seqs; ++s) {
    starts.push_back(s * batch.shape.context_length);
  }
  const PagedAttentionInputs& inputs = batch.inputs;
  gather_kv_by_kernel(how, {.kv = inputs.kv,
                            .block_table = inputs.block_table,
                            .context_length = inputs.context_length,
                            .context_start = starts,
                            .k = batch.token_rows<void*>(k, batch.shape.kv_type),
                            .v = batch.token_rows<void*>(v, batch.shape.kv_type)});
}

void run(TrafficKernel kernel, const TrafficBatch& batch, const KernelRun& how) {
  const PagedAttentionInputs& inputs = batch.inputs;
  simt::Executor executor(how.executor);
  DecodeResults results(inputs);
  const std::int64_t whole = batch.shape.context_length;
  switch (kernel) {
    case TrafficKernel::kReferenceDecode:
      return call_reference_decode(executor, how.observer, inputs, results);
    case TrafficKernel::kSplitDecode:
      return call_split_decode(executor, how.observer, inputs, whole / kSplits, results);
    case TrafficKernel::kGqaDecode:
      return call_gqa_decode(executor, how.observer, inputs, whole, results);
    case TrafficKernel::kGqaDecodeSplit:
      return call_gqa_decode(executor, how.observer, inputs, whole / kSplits, results);
    case TrafficKernel::kTmaDecode:
      return call_tma_decode(executor, how.observer, inputs, whole, results);
    case TrafficKernel::kPagedPrefill:
      return call_paged_prefill(executor, how.observer, inputs, results);
    case TrafficKernel::kKvWrite:
      return run_write(batch, how);
    case TrafficKernel::kKvAppend:
      return run_append(batch, how);
    case TrafficKernel::kBlockCopy:
      return run_copy(batch, how);
    case TrafficKernel::kBlockSwap:
      return run_swap(batch, how);
    case TrafficKernel::kGather:
      return run_gather(batch, how);
  }
}

// The number of visible keys, summed over all query rows.
double visible_keys(const TrafficShape& shape) {
  const auto rows = static_cast<double>(shape.rows_per_seq);
  const auto context = static_cast<double>(shape.context_length);
  return static_cast<double>(shape.num_seqs) * rows * (context - (rows - 1) / 2);
}

}  // namespace

const std::vector<TrafficKernel>& traffic_kernels() {
  using enum TrafficKernel;
  static const std::vector<TrafficKernel> kAll = {
      kReferenceDecode, kSplitDecode, kGqaDecode, kGqaDecodeSplit, kTmaDecode, kPagedPrefill,
      kKvWrite,         kKvAppend,    kBlockCopy, kBlockSwap,      kGather};
  return kAll;
}

const char* traffic_kernel_name(TrafficKernel kernel) {
  constexpr const char* kNames[] = {"reference_decode",
                                    "split_decode, split_merge",
                                    "gqa_decode",
                                    "gqa_decode, split_merge",
                                    "tma_decode",
                                    "paged_prefill",
                                    "kv_write",
                                    "kv_append",
                                    "block_copy",
                                    "block_swap",
                                    "gather"};
  return kNames[static_cast<int>(kernel)];
}

Work work_of(TrafficKernel kernel, const TrafficShape& shape) {
  const auto seqs = static_cast<double>(shape.num_seqs);
  const auto tokens = seqs * static_cast<double>(shape.context_length);
  const auto row = static_cast<double>(2 * shape.num_kv_heads * shape.head_dim);  // of K and V
  const auto q_bytes = static_cast<double>(element_bytes(shape.q_type));
  const double kv_bytes = tokens * row * static_cast<double>(element_bytes(shape.kv_type));
  const double table_bytes = 4 * seqs * static_cast<double>(blocks_per_seq(shape));
  switch (kernel) {
    case TrafficKernel::kKvWrite:
      return {.bytes = kv_bytes + tokens * (row * q_bytes + 8)};
    case TrafficKernel::kKvAppend:
      return {.bytes = kv_bytes / static_cast<double>(shape.context_length) +
                       seqs * (row * q_bytes + 4 + 4)};
    case TrafficKernel::kBlockCopy:
      return {.bytes = kv_bytes + table_bytes};
    case TrafficKernel::kBlockSwap:
      return {.bytes = 2 * kv_bytes + 2 * table_bytes};
    case TrafficKernel::kGather:
      return {.bytes = 2 * kv_bytes + table_bytes + 8 * seqs};
    default: {
      const bool is_split =
          kernel == TrafficKernel::kSplitDecode || kernel == TrafficKernel::kGqaDecodeSplit;
      const double heads = seqs * static_cast<double>(shape.rows_per_seq * shape.num_q_heads);
      const auto dims = static_cast<double>(shape.head_dim);
      // Written by one kernel and read by the other: m, l and o in fp32.
      const double state_bytes = is_split ? 2 * kSplits * 4 * (2 + dims) : 0;
      return {.bytes = kv_bytes + table_bytes + 4 * seqs +
                       heads * (2 * dims * q_bytes + 4 + state_bytes),
              .flops = 4 * dims * static_cast<double>(shape.num_q_heads) * visible_keys(shape)};
    }
  }
}

Traffic counted_traffic(TrafficKernel kernel, const TrafficShape& shape) {
  const TrafficBatch batch(shape);
  Traffic sum;
  const auto add = [&sum](const simt::AccessCounter& counter) {
    const simt::LineCount all = counter.sum();
    sum.sector_bytes += 32 * all.sectors;
    sum.wasted_bytes += all.wasted_bytes;
    sum.bank_conflicts += all.bank_conflicts;
    if (all.bank_conflicts == 0) return;
    for (const simt::LineCount& count : counter.counts()) {
      if (count.bank_conflicts == 0) continue;
      sum.conflicting_lines +=
          fmt::format("\n{} at {}, {}", count.bank_conflicts, count.place, count.what);
    }
  };
  const KernelRun how = {.observer = [&add](const simt::DeviceMemory& memory) {
    return std::shared_ptr<simt::AccessCounter>(new simt::AccessCounter(memory),
                                                [&add](simt::AccessCounter* counter) {
                                                  add(*counter);
                                                  delete counter;
                                                });
  }};
  run(kernel, batch, how);
  return sum;
}

}  // namespace recto::verify

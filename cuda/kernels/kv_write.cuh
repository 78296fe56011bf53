#pragma once

// One thread block per token, one warp per head.

#include <kernel_dialect.h>

#include <cstdint>

#include "cuda/kernels/kv_scale.cuh"
#include "cuda/kernels/kv_write.h"
#include "cuda/kernels/row_move.cuh"

namespace recto::kernels {

// Whether a later token names the same slot. Thread blocks run in any order, so if both tokens were
// written, the last thread block to run would win. O(tokens / threads). Engines pass no repeated
// slots, but they are allowed. Must be called by the whole thread block.
__device__ inline bool is_overwritten(const KvWriteParams& params, std::int64_t token) {
  const std::int64_t slot = params.slot_mapping[token];
  bool is_named_again = false;
  for (std::int64_t later = token + 1 + threadIdx.x; later < params.k.num_rows;
       later += kMoveThreads) {
    is_named_again |= params.slot_mapping[later] == slot;
  }
  return __syncthreads_or(is_named_again ? 1 : 0) != 0;
}

// Grid: (num_tokens).
template <typename Access, typename Source, typename Target>
__global__ void __launch_bounds__(kMoveThreads) kv_write(const KvWriteParams params) {
  const std::int64_t token = blockIdx.x;
  const std::int64_t slot_id = params.slot_mapping[token];
  if (slot_id < 0) return;
  if (params.repeated_slots == RepeatedSlots::kLaterStays && is_overwritten(params, token)) return;
  const MutableKvTensorView& k = params.kv.k;
  const MutableKvTensorView& v = params.kv.v;
  const Slot slot = {slot_id / k.block_size, slot_id % k.block_size};
  for (std::int64_t head = threadIdx.x / kWarpLanes; head < k.num_kv_heads; head += kMoveWarps) {
    move_row(row_of<Access, Source>(params.k, token, head), row_of<Access, Target>(k, slot, head),
             k.head_dim, scale_of<Target>(k, head));
    move_row(row_of<Access, Source>(params.v, token, head), row_of<Access, Target>(v, slot, head),
             v.head_dim, scale_of<Target>(v, head));
  }
}

}  // namespace recto::kernels

#pragma once

// Merges the states of each row's splits, by one warp a row. The maximum of all splits is found
// first; then the states are added as they come, and no load waits for the sum before it.

#include <kernel_dialect.h>
#include <kernel_ptx.h>

#include <cmath>
#include <cstdint>

#include "cuda/kernels/decode_block.cuh"
#include "cuda/kernels/row_access.cuh"
#include "cuda/kernels/split_range.cuh"
#include "cuda/kernels/warp.cuh"

namespace recto::kernels {

// States whose loads are in flight together.
inline constexpr int kMergeUnroll = 8;

// The number of splits that a context reaches.
__device__ inline int reached_splits(const SplitDecodeParams& params, const KeyRange& keys) {
  if (keys.size() <= 0) return 0;
  const std::int64_t size = split_size_of(keys, params);
  const std::int64_t parts = (keys.size() + size - 1) / size;
  return static_cast<int>(parts < params.num_splits ? parts : params.num_splits);
}

// One row's splits. Lane l has dims [4 l, 4 l + 4), and up to kFours - 1 times as many, each 128
// dims further on. Lanes without dims read the first four, which nothing uses.
template <typename Access, int kFours>
struct SplitRow {
  using State = SoftmaxState<4 * kFours>;
  static constexpr int kLaneStride = 4 * kWarpLanes;

  const float* maximum;  // [splits]
  const float* sum;      // [splits]
  const float* weighted;
  int splits;
  int head_dim;
  int lane;

  __device__ int dim_of(int four) const { return 4 * lane + four * kLaneStride; }

  __device__ State merged() const {
    State whole;
    whole.maximum = largest_maximum();
    for (int first = 0; first < splits; first += kWarpLanes) {
      const float factor = lane_factor(first, whole.maximum);
      if (factor != 0.0F) whole.sum += factor * sum[first + lane];
      __syncwarp();
      const int end = min(splits, first + kWarpLanes);
      for (int split = first; split < end; split += kMergeUnroll) {
        add_states(split, end, factor, whole);
      }
    }
    whole.sum = warp_sum(whole.sum);
    return whole;
  }

 private:
  __device__ float largest_maximum() const {
    float largest = -INFINITY;
    for (int split = lane; split < splits; split += kWarpLanes) {
      largest = fmaxf(largest, maximum[split]);
    }
    __syncwarp();  // the trip counts of the lanes may differ by one
    return warp_max(largest);
  }

  // The factor of split number first + lane; 0 without such a split, or one without keys.
  __device__ float lane_factor(int first, float largest) const {
    if (first + lane >= splits || maximum[first + lane] == -INFINITY) return 0.0F;
    return expf(maximum[first + lane] - largest);
  }

  // Adds the states from `split` on, kMergeUnroll of them or up to `end`.
  __device__ void add_states(int split, int end, float lane_factor, State& whole) const {
    Four<float> values[kMergeUnroll][kFours] = {};
#pragma unroll
    for (int i = 0; i < kMergeUnroll; ++i) {
#pragma unroll
      for (int four = 0; four < kFours; ++four) {
        if (split + i >= end) continue;
        const int dim = dim_of(four) < head_dim ? dim_of(four) : 0;
        values[i][four] =
            Access::load(weighted + static_cast<std::int64_t>(split + i) * head_dim, dim, head_dim);
      }
    }
#pragma unroll
    for (int i = 0; i < kMergeUnroll; ++i) {
      const float factor = __shfl_sync(kAllLanes, lane_factor, (split + i) % kWarpLanes);
#pragma unroll
      for (int four = 0; four < kFours; ++four) {
        for (int j = 0; j < 4; ++j) {
          whole.weighted[4 * four + j] += factor * values[i][four].at[j];
        }
      }
    }
  }
};

// Grid: (num_seqs, num_q_heads), of one warp each.
template <typename Element, typename Access, int kFours>
__global__ void __launch_bounds__(kWarpLanes) split_merge(const SplitDecodeParams params) {
  const std::int64_t sequence = blockIdx.x;
  const std::int64_t head = blockIdx.y;
  const int lane = static_cast<int>(threadIdx.x);
  const int head_dim = static_cast<int>(params.decode.kv.v.head_dim);
  const int splits = reached_splits(params, visible_keys(params.decode, sequence));
  const std::int64_t first = first_state(params, sequence, head);
  const SplitStates& states = params.states;
  const SplitRow<Access, kFours> row = {states.maximum + first,
                                        states.sum + first,
                                        states.weighted + first * head_dim,
                                        splits,
                                        head_dim,
                                        lane};
  wait_for_earlier_kernels();
  SoftmaxState<4 * kFours> whole = row.merged();
  const float* sink = sink_of(params.decode.options, head);
  if (sink != nullptr) whole = merge(whole, sink_state<4 * kFours>(*sink));
  const DecodeResult<Element> result = decode_result<Element>(params.decode, sequence, head);
#pragma unroll
  for (int i = 0; i < 4 * kFours; ++i) {
    const int dim = row.dim_of(i / 4) + i % 4;
    if (dim < head_dim) {
      result.out[dim] = convert<Element>(normalised(whole.weighted[i], whole.sum));
    }
  }
  if (lane == 0 && result.lse_ln != nullptr) *result.lse_ln = lse_ln_of(whole);
}

}  // namespace recto::kernels

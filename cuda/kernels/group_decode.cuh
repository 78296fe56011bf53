#pragma once

// A thread block's warps take stretches of its keys, each with all sixteen rows, and merge their
// states at the end. Between its first and its last barrier no warp waits for another.

#include <kernel_dialect.h>

#include <cstdint>

#include "cuda/kernels/decode_block.cuh"
#include "cuda/kernels/group_decode.h"
#include "cuda/kernels/key_stream.cuh"
#include "cuda/kernels/split_decode.cuh"

namespace recto::kernels {

// The query heads of one thread block: `count` of them, from `first` on.
struct HeadRows {
  std::int64_t sequence;
  std::int64_t kv_head;
  std::int64_t first;
  int count;
};

// Of (KV head, tile of its query heads) number `tile`.
__device__ inline HeadRows head_rows(const PagedDecodeParams& params, std::int64_t sequence,
                                     std::int64_t tile) {
  const std::int64_t group = params.q.num_heads / params.kv.k.num_kv_heads;
  const std::int64_t tiles = (group + kTileRows - 1) / kTileRows;
  const std::int64_t within = tile % tiles * kTileRows;
  const std::int64_t kv_head = tile / tiles;
  return {sequence, kv_head, kv_head * group + within,
          static_cast<int>(group - within < kTileRows ? group - within : kTileRows)};
}

__device__ inline float scale_of(const KvScale& scale, std::int64_t kv_head) {
  if (scale.kind == ScaleKind::kNone) return 1.0F;
  return scale.data[scale.kind == ScaleKind::kPerKvHead ? kv_head : 0];
}

// Rows that there are not are zero.
template <typename Shape>
__device__ inline void load_queries(const PagedDecodeParams& params, const HeadRows& rows,
                                    typename Shape::Element* tile) {
  using Element = typename Shape::Element;
  const auto* q = static_cast<const Element*>(params.q.data) + rows.sequence * params.q.row_stride +
                  rows.first * params.q.head_stride;
  for (int i = static_cast<int>(threadIdx.x); i < kTileRows * Shape::kHeadDim;
       i += kDecodeThreads) {
    const int row = i / Shape::kHeadDim;
    const int dim = i % Shape::kHeadDim;
    tile[Shape::KeyTile::index(row, dim)] =
        row < rows.count ? q[row * params.q.head_stride + dim] : convert<Element>(0.0F);
  }
}

__device__ inline RowRules row_rules(const PagedDecodeParams& params, const HeadRows& rows,
                                     const KeyRange& keys, int lane) {
  const DecodeOptions& options = params.options;
  const float scale = options.scale * scale_of(params.kv.k.scale, rows.kv_head);
  RowRules rules;
  for (int half = 0; half < 2; ++half) {
    const int row = min(fragment_row(lane, half * 2), rows.count - 1);
    const float slope =
        options.alibi_slopes == nullptr ? 0.0F : options.alibi_slopes[rows.first + row];
    rules.rule[half] = {scale, options.softcap, slope, params.context_length[rows.sequence] - 1};
    rules.visible[half] = keys;
  }
  return rules;
}

template <typename Stored>
__device__ inline HeadCache<Stored> head_cache(const PagedDecodeParams& params,
                                               const HeadRows& rows) {
  const KvTensorView& k = params.kv.k;
  const KvTensorView& v = params.kv.v;
  const int block_size = static_cast<int>(k.block_size);
  return {head_tensor<Stored>(k, rows.kv_head),
          head_tensor<Stored>(v, rows.kv_head),
          cursor_of(params.block_table, block_size, rows.sequence),
          k.type == ElementType::kE4m3 ? __NV_E4M3 : __NV_E5M2,
          v.layout == KvLayout::kPacked,
          block_size % kChunk<Stored> == 0};
}

// The states of all warps, where whoever merges them finds them.
struct WarpStates {
  float maximum[kDecodeWarps][kTileRows];
  float sum[kDecodeWarps][kTileRows];
};

template <typename Shape>
__device__ inline void share_states(const RowStates<Shape::kHeadDim>& states, int warp, int lane,
                                    WarpStates& shared, const WarpMemory<Shape>& memory) {
  for (int half = 0; half < 2; ++half) {
    const int row = fragment_row(lane, half * 2);
    if (lane % 4 == 0) {
      shared.maximum[warp][row] = states.maximum[half];
      shared.sum[warp][row] = states.sum[half];
    }
    for (int dim = 0; dim < Shape::kHeadDim; dim += 8) {
      const Fragment& from = states.weighted[dim / 8];
      float* to = memory.sums() + row * Shape::kSumStride + dim + fragment_column(lane, 0);
      *reinterpret_cast<float2*>(to) = make_float2(from[half * 2], from[half * 2 + 1]);
    }
  }
}

// One row's state over all keys of the thread block, its dims over the lanes of a warp.
template <int kHeadDim>
inline constexpr int kLaneDims = (kHeadDim + kWarpLanes - 1) / kWarpLanes;

template <typename Shape>
__device__ inline SoftmaxState<kLaneDims<Shape::kHeadDim>> merged_row(const WarpStates& shared,
                                                                      std::uint32_t* warps_begin,
                                                                      int row, int lane) {
  SoftmaxState<kLaneDims<Shape::kHeadDim>> whole;
  for (int warp = 0; warp < kDecodeWarps; ++warp) {
    SoftmaxState<kLaneDims<Shape::kHeadDim>> state{shared.maximum[warp][row],
                                                   shared.sum[warp][row]};
    const WarpMemory<Shape> memory = warp_memory<Shape>(warps_begin, warp);
    for (int i = 0; i < kLaneDims<Shape::kHeadDim>; ++i) {
      const int dim = lane + i * kWarpLanes;
      if (dim < Shape::kHeadDim) {
        state.weighted[i] = memory.sums()[row * Shape::kSumStride + dim];
      }
    }
    whole = merge(whole, state);
  }
  return whole;
}

template <typename Shape>
__device__ inline void write_state(const SplitDecodeParams& params, std::int64_t index, int lane,
                                   const SoftmaxState<kLaneDims<Shape::kHeadDim>>& state) {
  for (int i = 0; i < kLaneDims<Shape::kHeadDim>; ++i) {
    const int dim = lane + i * kWarpLanes;
    if (dim < Shape::kHeadDim) {
      params.states.weighted[index * Shape::kHeadDim + dim] = state.weighted[i];
    }
  }
  if (lane == 0) {
    params.states.maximum[index] = state.maximum;
    params.states.sum[index] = state.sum;
  }
}

template <typename Shape>
__device__ inline void write_result(const PagedDecodeParams& params, std::int64_t sequence,
                                    std::int64_t head, int lane,
                                    SoftmaxState<kLaneDims<Shape::kHeadDim>> state) {
  using Element = typename Shape::Element;
  const float* sink = sink_of(params.options, head);
  if (sink != nullptr) state = merge(state, sink_state<kLaneDims<Shape::kHeadDim>>(*sink));
  const DecodeResult<Element> result = decode_result<Element>(params, sequence, head);
  for (int i = 0; i < kLaneDims<Shape::kHeadDim>; ++i) {
    const int dim = lane + i * kWarpLanes;
    if (dim < Shape::kHeadDim) {
      result.out[dim] = convert<Element>(normalised(state.weighted[i], state.sum));
    }
  }
  if (lane == 0 && result.lse_ln != nullptr) *result.lse_ln = lse_ln_of(state);
}

// Grid: (num_seqs, num_kv_heads * tiles of a group, num_splits).
template <typename Shape>
__global__ void __launch_bounds__(kDecodeThreads, Shape::kBlocksPerSm)
    group_decode(const SplitDecodeParams params) {
  KERNEL_DYNAMIC_SHARED(std::uint32_t, group_memory);
  KERNEL_SHARED(WarpStates, warp_states, );
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  const int warp = static_cast<int>(threadIdx.x) / kWarpLanes;
  const std::int64_t split = blockIdx.z;
  const HeadRows rows = head_rows(params.decode, blockIdx.x, blockIdx.y);
  const KeyRange keys = visible_keys(params.decode, rows.sequence);
  const KeyRange own = {split_begin(keys, params.split_size, split),
                        split_begin(keys, params.split_size, split + 1)};
  if (own.size() == 0 && params.num_splits > 1) return;

  auto* query = reinterpret_cast<typename Shape::Element*>(group_memory);
  std::uint32_t* warps_begin = group_memory + Shape::kQueryBytes / sizeof(std::uint32_t);
  load_queries<Shape>(params.decode, rows, query);
  __syncthreads();

  const KeyRange stretch = stretch_of_warp(own, warp);
  const HeadCache<typename Shape::Stored> cache =
      head_cache<typename Shape::Stored>(params.decode, rows);
  const WarpMemory<Shape> memory = warp_memory<Shape>(warps_begin, warp);
  KeyStream<Shape> stream(cache, stretch, memory, lane);
  const RowStates<Shape::kHeadDim> states =
      stream.run(query, row_rules(params.decode, rows, stretch, lane));
  __syncwarp();
  share_states<Shape>(states, warp, lane, warp_states, memory);
  __syncthreads();

  const float value_scale = scale_of(params.decode.kv.v.scale, rows.kv_head);
  for (int row = warp; row < rows.count; row += kDecodeWarps) {
    SoftmaxState<kLaneDims<Shape::kHeadDim>> whole =
        merged_row<Shape>(warp_states, warps_begin, row, lane);
    for (float& sum : whole.weighted) sum *= value_scale;
    const std::int64_t head = rows.first + row;
    if (params.num_splits == 1) {
      write_result<Shape>(params.decode, rows.sequence, head, lane, whole);
    } else {
      write_state<Shape>(params, first_state(params, rows.sequence, head) + split, lane, whole);
    }
  }
}

}  // namespace recto::kernels

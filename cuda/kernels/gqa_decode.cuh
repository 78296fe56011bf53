#pragma once

// Each warp of a thread block processes a range of the keys for all sixteen rows; the states are
// merged at the end. Between the first and the last barrier no warp waits for another.

#include <kernel_dialect.h>
#include <kernel_ptx.h>

#include <cstdint>

#include "cuda/kernels/decode_block.cuh"
#include "cuda/kernels/gqa_decode.h"
#include "cuda/kernels/head_cache.cuh"
#include "cuda/kernels/key_stream.cuh"
#include "cuda/kernels/split_range.cuh"

namespace recto::kernels {

template <typename NumbersType, int kDims>
using GroupStream = StreamShape<WarpTeam, NumbersType, kDims, NumbersType::Products::kKeysPerStep>;

template <typename NumbersType, int kDims>
struct GroupShape : GroupStream<NumbersType, kDims> {
  using Stream = GroupStream<NumbersType, kDims>;
  using InWholeTiles = GroupShape<
      Numbers<typename NumbersType::Products, typename NumbersType::Stored, Transfer::kTiles>,
      kDims>;
  // At the end, a warp's part holds its weighted sums instead. Rows are eight banks apart.
  static constexpr int kSumStride = kDims + 8;
  static_assert(kTileRows * kSumStride * static_cast<int>(sizeof(float)) <= Stream::kBytes);

  static constexpr int kQueryBytes =
      Stream::RowTile::size(kTileRows) * static_cast<int>(sizeof(typename Stream::Element));
  static constexpr int kSharedBytes = kQueryBytes + kDecodeWarps * Stream::kBytes;
  // Minimum number of thread blocks per multiprocessor, for which there are enough registers. Rows
  // of codes that are fetched one by one need more of them.
  static constexpr bool kHasRowsOfCodes =
      Stream::kTransfer == Transfer::kRows && sizeof(typename Stream::Stored) == 1;
  static constexpr int kBlocksPerSm =
      Stream::Products::blocks_per_sm(kHasRowsOfCodes ? 2 * kDims : kDims);
};

// The query heads of one thread block: `count` of them, from `first` on.
struct HeadRows {
  std::int64_t sequence;
  std::int64_t kv_head;
  std::int64_t first;
  int count;
};

// The heads of number `tile` among all pairs (KV head, tile of its query heads).
__device__ inline HeadRows head_rows(const ReferenceDecodeParams& params, std::int64_t sequence,
                                     std::int64_t tile) {
  const std::int64_t group = params.q.num_heads / params.kv.k.num_kv_heads;
  const std::int64_t tiles = (group + kTileRows - 1) / kTileRows;
  const std::int64_t within = tile % tiles * kTileRows;
  const std::int64_t kv_head = tile / tiles;
  return {sequence, kv_head, kv_head * group + within,
          static_cast<int>(group - within < kTileRows ? group - within : kTileRows)};
}

// Fills missing rows with zeros. One warp loads each row.
template <typename Shape>
__device__ inline void load_queries(const ReferenceDecodeParams& params, const HeadRows& rows,
                                    typename Shape::Element* tile) {
  using Element = typename Shape::Element;
  const auto* q = static_cast<const Element*>(params.q.data) + rows.sequence * params.q.row_stride +
                  rows.first * params.q.head_stride;
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
#pragma unroll
  for (int part = 0; part < kTileRows; part += kDecodeWarps) {
    const int row = part + static_cast<int>(threadIdx.x) / kWarpLanes;
#pragma unroll
    for (int dim = lane; dim < Shape::kHeadDim; dim += kWarpLanes) {
      tile[Shape::RowTile::index(row, dim)] =
          row < rows.count ? q[row * params.q.head_stride + dim] : convert<Element>(0.0F);
    }
    // The trip counts of the lanes may differ by one.
    if constexpr (Shape::kHeadDim % kWarpLanes != 0) __syncwarp();
  }
}

template <typename Shape>
__device__ inline RowRules row_rules(const ReferenceDecodeParams& params, const HeadRows& rows,
                                     const KeyRange& keys, int lane) {
  const AttentionOptions& options = params.options;
  const float scale =
      options.scale * stored_scale<typename Shape::Stored>(params.kv.k, rows.kv_head);
  RowRules rules;
  rules.plain_factor = plain_factor_of(options, scale);
  for (int half = 0; half < 2; ++half) {
    const int row = min(fragment_row(lane, half * 2), rows.count - 1);
    const float slope =
        options.alibi_slopes.empty() ? 0.0F : options.alibi_slopes[rows.first + row];
    rules.rule[half] = {scale, options.softcap, slope, params.context_length[rows.sequence] - 1};
    rules.visible[half] = keys;
  }
  return rules;
}

// Shared memory of warp number `warp`.
template <typename Shape>
__device__ inline std::uint32_t* part_of_warp(std::uint32_t* warps_begin, int warp) {
  return warps_begin + warp * (Shape::kBytes / static_cast<int>(sizeof(std::uint32_t)));
}
template <typename Shape>
__device__ inline float* sums_of(std::uint32_t* warps_begin, int warp) {  // [kTileRows][kSumStride]
  return reinterpret_cast<float*>(part_of_warp<Shape>(warps_begin, warp));
}

// The states of all warps, shared for merging.
struct WarpStates {
  float maximum[kDecodeWarps][kTileRows];
  float sum[kDecodeWarps][kTileRows];
};

template <typename Shape>
__device__ inline void share_states(const RowStates<Shape::kHeadDim>& states, int warp, int lane,
                                    WarpStates& shared, float* sums) {
  for (int half = 0; half < 2; ++half) {
    const int row = fragment_row(lane, half * 2);
    if (lane % 4 == 0) {
      shared.maximum[warp][row] = states.maximum[half];
      shared.sum[warp][row] = states.sum[half];
    }
    for (int dim = 0; dim < Shape::kHeadDim; dim += 8) {
      const Fragment& from = states.weighted[dim / 8];
      float* to = sums + row * Shape::kSumStride + dim + fragment_column(lane, 0);
      *reinterpret_cast<float2*>(to) = make_float2(from[half * 2], from[half * 2 + 1]);
    }
  }
}

// One row's state over all keys of the thread block; its dims are spread over a warp's lanes.
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
    const float* sums = sums_of<Shape>(warps_begin, warp);
    for (int i = 0; i < kLaneDims<Shape::kHeadDim>; ++i) {
      const int dim = lane + i * kWarpLanes;
      if (dim < Shape::kHeadDim) {
        state.weighted[i] = sums[row * Shape::kSumStride + dim];
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
__device__ inline void write_result(const ReferenceDecodeParams& params, std::int64_t sequence,
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
    gqa_decode(const SplitDecodeParams params) {
  KERNEL_DYNAMIC_SHARED(std::uint32_t, group_memory);
  KERNEL_SHARED(WarpStates, warp_states, );
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  const int warp = static_cast<int>(threadIdx.x) / kWarpLanes;
  const std::int64_t split = blockIdx.z;
  const HeadRows rows = head_rows(params.decode, blockIdx.x, blockIdx.y);
  const KeyRange keys = visible_keys(params.decode, rows.sequence);
  const KeyRange own = keys_of_split(keys, params, split);
  if (own.size() == 0 && params.num_splits > 1) return;
  allow_next_kernel();  // the merge, which waits for this kernel's end before it reads states

  auto* query = reinterpret_cast<typename Shape::Element*>(group_memory);
  std::uint32_t* warps_begin = group_memory + Shape::kQueryBytes / sizeof(std::uint32_t);
  const KeyRange stretch = stretch_of_warp(own, warp, Shape::kKeys);
  const HeadCache<typename Shape::Stored> cache = head_cache<typename Shape::Stored>(
      params.decode.kv, params.decode.block_table, rows.sequence, rows.kv_head);
  using Stream = typename Shape::Stream;
  const StreamMemory<Stream> memory = {part_of_warp<Shape>(warps_begin, warp)};
  KeyStream<Stream> stream(cache, {stretch, stretch}, memory,
                           row_rules<Shape>(params.decode, rows, stretch, lane));
  const RowStates<Shape::kHeadDim> states = stream.run(query, [&] {
    load_queries<Shape>(params.decode, rows, query);
    __syncthreads();
  });
  share_states<Shape>(states, warp, lane, warp_states, sums_of<Shape>(warps_begin, warp));
  __syncthreads();

  const float value_scale = stored_scale<typename Shape::Stored>(params.decode.kv.v, rows.kv_head);
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

#pragma once

// Prefill for Hopper cards: a thread block has 128 rows of a KV head, 64 for each of two consumers
// (paged_prefill_hopper_pass.cuh), and a producer that copies tiles of 128 keys and values for both
// (paged_prefill_hopper_copy.cuh). Rows, their visible keys and their outputs are those of
// paged_prefill.cuh.

#include <kernel_dialect.h>
#include <kernel_ptx.h>

#include <cstdint>

#include "cuda/kernels/paged_prefill_hopper_copy.cuh"
#include "cuda/kernels/paged_prefill_hopper_pass.cuh"
#include "cuda/kernels/paged_prefill_wide_copy.cuh"

namespace recto::kernels {

// The offsets of a warp's rows in q or out, one in each of the first sixteen lanes.
template <typename View>
__device__ inline std::int64_t row_offset(const PrefillRows& rows, const Consumer& consumer,
                                          const View& view) {
  const int row = consumer.first_row() + consumer.lane;
  return consumer.lane < kTileRows && row < rows.count ? rows.offset_of(row, view) : kNoKey;
}

// Called by each warp for its own rows; missing rows become zeros.
template <typename Shape>
__device__ inline void fetch_rows(const PagedPrefillParams& params, const PrefillRows& rows,
                                  const Consumer& consumer, typename Shape::Element* tile) {
  using Element = typename Shape::Element;
  using Lanes = LaneChunks<Element, Shape::kHeadDim>;
  const auto* q = static_cast<const Element*>(params.q.data);
  const std::int64_t own_offset = row_offset(rows, consumer, params.q);
  const int dim = Lanes::dim(consumer.lane);
#pragma unroll
  for (int first = 0; first < kTileRows; first += Lanes::kRows) {
    const int row = first + Lanes::row(consumer.lane);
    const std::int64_t offset = __shfl_sync(kAllLanes, own_offset, row);
    const bool is_there = offset != kNoKey;
    copy_async_16(tile + Shape::Tile::index(consumer.first_row() + row, dim),
                  is_there ? q + offset + dim : q, is_there ? kChunkBytes : 0);
  }
  wait_for_all_copies();
}

// Writes a warp's rows by way of `tile`, so that a lane writes 16 bytes at a time.
template <typename Shape>
__device__ inline void write_out(const PagedPrefillParams& params, const PrefillRows& rows,
                                 const Consumer& consumer, const RowStates<Shape::kHeadDim>& states,
                                 typename Shape::Element* tile) {
  using Element = typename Shape::Element;
  using Lanes = LaneChunks<Element, Shape::kHeadDim>;
  struct alignas(kChunkBytes) Chunk {
    Element at[kChunk<Element>];
  };
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = consumer.row(half);
    const SoftmaxState<1> state{states.maximum[half], states.sum[half], {1.0F}};
    const float factor = output_factor(params, rows, row, state, consumer.lane);
#pragma unroll
    for (int dim = 0; dim < Shape::kHeadDim; dim += 8) {
      const Fragment& weighted = states.weighted[dim / 8];
      const int at = Shape::Tile::index(row, dim + fragment_column(consumer.lane, 0));
      *reinterpret_cast<unsigned*>(tile + at) =
          rounded_pair<Element>(weighted[half * 2] * factor, weighted[half * 2 + 1] * factor);
    }
  }
  __syncwarp();
  auto* out = static_cast<Element*>(params.out.data);
  const std::int64_t own_offset = row_offset(rows, consumer, params.out);
  const int dim = Lanes::dim(consumer.lane);
#pragma unroll
  for (int first = 0; first < kTileRows; first += Lanes::kRows) {
    const int row = first + Lanes::row(consumer.lane);
    const std::int64_t offset = __shfl_sync(kAllLanes, own_offset, row);
    if (offset == kNoKey) continue;
    *reinterpret_cast<Chunk*>(out + offset + dim) =
        *reinterpret_cast<const Chunk*>(tile + Shape::Tile::index(consumer.first_row() + row, dim));
  }
}

template <typename Shape>
__device__ inline void attend(const PagedPrefillParams& params, const PrefillRows& rows,
                              const TeamKeys& keys, HopperMemory<Shape>& memory) {
  const Consumer consumer = Consumer::of_thread();
  fetch_rows<Shape>(params, rows, consumer, memory.rows);
  // For the tiles that rows see only in part. Missing rows see nothing.
  if (consumer.thread() < Shape::kConsumerRows) {
    const int row = consumer.index * Shape::kConsumerRows + consumer.thread();
    memory.visible[row] = row < rows.count
                              ? visible_from(params, rows.position_of(row), rows.context)
                              : KeyRange{0, 0};
  }
  fence_async_proxy();
  consumer.meet();
  RowStates<Shape::kHeadDim> states;
  HopperPass<Shape> pass(plain_factor_of(params.options, params.options.scale), memory, consumer);
  pass.run(tiles_of(keys, Shape::kKeys), states);
  consumer.meet();  // all warps have read the queries
  write_out<Shape>(params, rows, consumer, states, memory.rows);
}

// Grid: (tiles of 128 rows, num_kv_heads, num_seqs).
template <typename Shape>
__global__ void __launch_bounds__(Shape::kThreads, 1)
    paged_prefill_hopper(const __grid_constant__ HopperPrefillParams params) {
  extern __shared__ __align__(1024) unsigned char hopper_memory[];
  auto& memory = *reinterpret_cast<HopperMemory<Shape>*>(hopper_memory);
  const PrefillRows rows = prefill_rows(params.call, Shape::kRows);
  if (rows.count <= 0) return;
  const TeamKeys keys = keys_of(params.call, rows);
  if (threadIdx.x == 0) {
    memory.keys.init();
    memory.values.init();
    fence_async_proxy();
  }
  __syncthreads();
  const int warp = uniform_warp();
  if (warp < 4) {
    give_registers<Shape::kProducerRegisters>();
    if (warp == 0) copy_tiles<Shape>(params, rows, keys, memory);
  } else {
    take_registers<Shape::kConsumerRegisters>();
    attend<Shape>(params.call, rows, keys, memory);
  }
}

}  // namespace recto::kernels

#pragma once

// A warp's keys, tile after tile, as they come from the cache in the background: scores, softmax
// and weighted values of sixteen rows. A warp waits for its own lanes only.

#include <kernel_dialect.h>
#include <kernel_ptx.h>

#include <cstdint>

#include "cuda/kernels/block_cursor.cuh"
#include "cuda/kernels/group_shape.cuh"
#include "cuda/kernels/row_softmax.cuh"
#include "cuda/kernels/tile_copy.cuh"
#include "cuda/kernels/widen.cuh"

namespace recto::kernels {

// K and V of one KV head of one sequence.
template <typename Stored>
struct HeadCache {
  HeadTensor<Stored> keys;
  HeadTensor<Stored> values;
  BlockCursor cursor;
  __nv_fp8_interpretation_t codes;  // of fp8 caches
  bool has_dim_rows;                // packed values: a row for each dim
  bool has_chunks;                  // of which whole chunks may be copied
};

template <typename Shape>
class KeyStream {
 public:
  using Stored = typename Shape::Stored;
  using Element = typename Shape::Element;
  using Products = typename Shape::Products;

  __device__ KeyStream(const HeadCache<Stored>& cache, const KeyRange& keys,
                       const WarpMemory<Shape>& memory, int lane)
      : cache_(cache), keys_(keys), memory_(memory), lane_(lane) {}

  // The rows' states after all keys.
  __device__ RowStates<Shape::kHeadDim> run(const Element* query, const RowRules& rows) {
    RowStates<Shape::kHeadDim> states;
    if (keys_.size() <= 0) return states;
    // Tiles begin at multiples of their size, so that those of one sequence are always the same.
    const int first = keys_.begin / Shape::kKeys;
    const int end = (keys_.end + Shape::kKeys - 1) / Shape::kKeys;
    block_id_ = block_of(first);
    for (int tile = first; tile < first + Shape::kStages - 1; ++tile) start(tile, first, end);
    for (int tile = first; tile < end; ++tile) {
      start(tile + Shape::kStages - 1, first, end);
      wait_for_copies<Shape::kStages - 1>();
      __syncwarp();
      attend(tile, (tile - first) % Shape::kStages, query, rows, states);
      __syncwarp();  // before what was read is overwritten
    }
    states.close();
    return states;
  }

 private:
  // The physical block of a lane's key, from the table; 0 if there is no such key.
  __device__ std::int64_t block_of(int tile) const {
    const int position = tile * Shape::kKeys + lane_;
    if (lane_ >= Shape::kKeys || position < keys_.begin || position >= keys_.end) return 0;
    return cache_.cursor.block_ids[position / cache_.cursor.block_size];
  }

  // Sets a tile's copies going. Its table entries came with the tile before.
  __device__ void start(int tile, int first, int end) {
    if (tile < end) {
      const int position = tile * Shape::kKeys + lane_;
      if (lane_ < Shape::kKeys) {
        const Slot slot = {block_id_, position % cache_.cursor.block_size};
        const bool is_there = position >= keys_.begin && position < keys_.end;
        memory_.key_offsets()[lane_] = is_there ? cache_.keys.offsets.of(slot) : kNoKey;
        memory_.value_offsets()[lane_] = is_there ? cache_.values.offsets.of(slot) : kNoKey;
      }
      block_id_ = block_of(tile + 1);
      __syncwarp();
      const int stage = (tile - first) % Shape::kStages;
      const Workers lanes = {lane_, kWarpLanes};
      copy_rows<Shape::kHeadDim, Shape::kKeys>(cache_.keys, memory_.key_offsets(),
                                               memory_.keys(stage), Shape::kStoredStride, lanes);
      copy_values(memory_.values(stage), lanes);
      __syncwarp();  // before the offsets are overwritten
    }
    commit_copies();
  }

  __device__ void copy_values(Stored* tile, const Workers& lanes) const {
    if (!cache_.has_dim_rows) {
      copy_rows<Shape::kHeadDim, Shape::kKeys>(cache_.values, memory_.value_offsets(), tile,
                                               Shape::kStoredStride, lanes);
      return;
    }
    const auto index = [](int dim, int key) {
      return Shape::kIsCoded ? dim * Shape::kKeys + key : Shape::DimMajorTile::index(dim, key);
    };
    copy_dims<Shape::kHeadDim, Shape::kKeys>(cache_.values, memory_.value_offsets(),
                                             cache_.has_chunks, tile, index, lanes);
  }

  __device__ void attend(int tile, int stage, const Element* query, const RowRules& rows,
                         RowStates<Shape::kHeadDim>& states) const {
    Fragment scores[Shape::kKeys / 8];
    Products::template multiply_keys<Shape::kHeadDim, Shape::kKeys>(query, wide_keys(stage), lane_,
                                                                    scores);
    weigh(rows, tile * Shape::kKeys, lane_, scores, states);
    const Element* values = wide_values(stage);
    if (cache_.has_dim_rows) {
      Products::template add_values_by_dims<Shape::kHeadDim, Shape::kKeys>(
          scores, values, memory_.scratch(), lane_, states.weighted);
    } else {
      Products::template add_values<Shape::kHeadDim, Shape::kKeys>(
          scores, values, memory_.scratch(), lane_, states.weighted);
    }
  }

  // A tile as the products take it.
  __device__ const Element* wide_keys(int stage) const {
    if constexpr (Shape::kIsCoded) {
      return widened_rows(memory_.keys(stage));
    } else {
      return memory_.keys(stage);
    }
  }
  __device__ const Element* wide_values(int stage) const {
    if constexpr (!Shape::kIsCoded) {
      return memory_.values(stage);
    } else {
      __syncwarp();  // the keys that stood there have been read
      if (!cache_.has_dim_rows) return widened_rows(memory_.values(stage));
      widen<Shape::kHeadDim, Shape::kKeys>(memory_.values(stage), cache_.codes, memory_.wide(),
                                           &Shape::DimMajorTile::index, Workers{lane_, kWarpLanes});
      __syncwarp();
      return memory_.wide();
    }
  }
  __device__ const Element* widened_rows(const Stored* codes) const {
    widen<Shape::kKeys, Shape::kHeadDim>(codes, cache_.codes, memory_.wide(),
                                         &Shape::KeyTile::index, Workers{lane_, kWarpLanes});
    __syncwarp();
    return memory_.wide();
  }

  const HeadCache<Stored>& cache_;
  const KeyRange keys_;
  const WarpMemory<Shape> memory_;
  const int lane_;
  std::int64_t block_id_ = 0;
};

}  // namespace recto::kernels

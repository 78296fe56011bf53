#pragma once

// Keys and values, tile after tile, as they come from the cache in the background: scores, softmax
// and weighted values of the rows that see them.

#include <kernel_dialect.h>
#include <kernel_ptx.h>

#include <cstdint>

#include "cuda/kernels/block_cursor.cuh"
#include "cuda/kernels/row_softmax.cuh"
#include "cuda/kernels/stream_shape.cuh"
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
  ValueOrder value_order;
};

// By a team, for sixteen rows of each of its warps.
template <typename Shape>
class KeyStream {
 public:
  using Team = typename Shape::Team;
  using Stored = typename Shape::Stored;
  using Element = typename Shape::Element;
  using Products = typename Shape::Products;
  static constexpr int kHeadDim = Shape::kHeadDim;
  static constexpr int kKeys = Shape::kKeys;

  // Of `keys` some are seen by some row of the team; `rows` are the calling lane's.
  __device__ KeyStream(const HeadCache<Stored>& cache, const KeyRange& keys,
                       const StreamMemory<Shape>& memory, const RowRules& rows)
      : cache_(cache), keys_(keys), memory_(memory), rows_(rows) {}

  // The rows' states after all keys. query: the warp's rows, see RowMajorTile.
  __device__ RowStates<kHeadDim> run(const Element* query) {
    RowStates<kHeadDim> states;
    if (keys_.size() <= 0) return states;
    // Tiles begin at multiples of their size, so that those of one sequence are always the same.
    const int first = keys_.begin / kKeys;
    const int end = (keys_.end + kKeys - 1) / kKeys;
    block_id_ = block_of(first);
    for (int tile = first; tile < first + Shape::kStages - 1; ++tile) start(tile, first, end);
    for (int tile = first; tile < end; ++tile) {
      start(tile + Shape::kStages - 1, first, end);
      wait_for_copies<Shape::kStages - 1>();
      Team::meet();
      attend(tile, (tile - first) % Shape::kStages, query, states);
      Team::meet();  // before what was read is overwritten
    }
    states.close();
    return states;
  }

 private:
  __device__ bool is_seen(int position) const {
    return position >= keys_.begin && position < keys_.end;
  }

  // The physical block of a thread's key, from the table; 0 if there is no such key.
  __device__ std::int64_t block_of(int tile) const {
    const int position = tile * kKeys + Team::rank();
    if (Team::rank() >= kKeys || !is_seen(position)) return 0;
    return cache_.cursor.block_ids[position / cache_.cursor.block_size];
  }

  // Sets a tile's copies going. Its table entries came with the tile before.
  __device__ void start(int tile, int first, int end) {
    if (tile < end) {
      if (Team::rank() < kKeys) note_offsets(tile);
      block_id_ = block_of(tile + 1);
      Team::meet();
      copy_tile((tile - first) % Shape::kStages);
      Team::meet();  // before the offsets are overwritten
    }
    commit_copies();
  }

  __device__ void note_offsets(int tile) const {
    const int position = tile * kKeys + Team::rank();
    const Slot slot = {block_id_, position % cache_.cursor.block_size};
    const bool is_there = is_seen(position);
    memory_.key_offsets()[Team::rank()] = is_there ? cache_.keys.offsets.of(slot) : kNoKey;
    memory_.value_offsets()[Team::rank()] = is_there ? cache_.values.offsets.of(slot) : kNoKey;
  }

  __device__ void copy_tile(int stage) const {
    const Workers workers = {Team::rank(), Team::kThreads};
    copy_rows<kHeadDim, kKeys>(cache_.keys, memory_.key_offsets(), memory_.keys(stage),
                               Shape::kStoredStride, workers);
    if (cache_.value_order == ValueOrder::kKeyRows) {
      copy_rows<kHeadDim, kKeys>(cache_.values, memory_.value_offsets(), memory_.values(stage),
                                 Shape::kStoredStride, workers);
      return;
    }
    const auto index = [](int dim, int key) {
      return Shape::kIsCoded ? dim * kKeys + key : Shape::DimTile::index(dim, key);
    };
    copy_dims<kHeadDim, kKeys>(cache_.values, memory_.value_offsets(), memory_.values(stage), index,
                               workers);
  }

  __device__ void attend(int tile, int stage, const Element* query,
                         RowStates<kHeadDim>& states) const {
    const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
    const int warp = Team::rank() / kWarpLanes;
    Fragment scores[kKeys / 8];
    Products::template multiply_keys<kHeadDim, kKeys>(query, wide_keys(stage), lane, scores);
    weigh(rows_, tile * kKeys, lane, scores, states);
    Products::template add_values<kHeadDim, kKeys>(
        scores, ValueTile<Element>{wide_values(stage), cache_.value_order}, memory_.scratch(warp),
        lane, states.weighted);
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
      Team::meet();  // the keys that stood there have been read
      if (cache_.value_order == ValueOrder::kKeyRows) return widened_rows(memory_.values(stage));
      widen<kHeadDim, kKeys>(memory_.values(stage), cache_.codes, memory_.wide(),
                             &Shape::DimTile::index, Workers{Team::rank(), Team::kThreads});
      Team::meet();
      return memory_.wide();
    }
  }
  __device__ const Element* widened_rows(const Stored* codes) const {
    widen<kKeys, kHeadDim>(codes, cache_.codes, memory_.wide(), &Shape::RowTile::index,
                           Workers{Team::rank(), Team::kThreads});
    Team::meet();
    return memory_.wide();
  }

  const HeadCache<Stored>& cache_;
  const KeyRange keys_;
  const StreamMemory<Shape> memory_;
  const RowRules rows_;
  std::int64_t block_id_ = 0;
};

}  // namespace recto::kernels

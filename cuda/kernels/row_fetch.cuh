#pragma once

// Fetches the tiles of a stream row by row, 16 bytes at a time, at any address.

#include <kernel_dialect.h>
#include <kernel_ptx.h>

#include <cstdint>

#include "cuda/kernels/decode_row.cuh"
#include "cuda/kernels/head_cache.cuh"
#include "cuda/kernels/stream_shape.cuh"
#include "cuda/kernels/tile_copy.cuh"

namespace recto::kernels {

// Used by a team; all its threads call each function. Tiles are started in order, including those
// past the last one, and waited for in order.
template <typename Shape>
class RowFetch {
 public:
  using Team = typename Shape::Team;
  using Stored = typename Shape::Stored;
  static constexpr int kHeadDim = Shape::kHeadDim;
  static constexpr int kKeys = Shape::kKeys;

  // `keys` must not be empty, and its first keys must be in the first tile.
  __device__ RowFetch(const HeadCache<Stored>& cache, const KeyRange& keys,
                      const StreamMemory<Shape>& memory)
      : cache_(cache), keys_(keys), memory_(memory), block_id_(block_of(keys.begin / kKeys)) {}

  // Starts a tile's copies into a stage. Its table entries were read with the previous tile.
  __device__ void start(int tile, int stage) {
    if (tile * kKeys < keys_.end) {
      if (Team::rank() < kKeys) note_offsets(tile);
      block_id_ = block_of(tile + 1);
      Team::meet();
      copy_tile(stage);
      Team::meet();  // before the offsets are overwritten
    }
    commit_copies();
  }

  // Waits until the team may read the oldest tile in flight from its stage.
  __device__ void wait(int /*stage*/) {
    wait_for_copies<Shape::kStages - 1>();
    Team::meet();
  }

  __device__ void end() {}

 private:
  __device__ bool is_seen(int position) const {
    return position >= keys_.begin && position < keys_.end;
  }

  // The physical block of a thread's key, from the table; 0 without such a key.
  __device__ std::int32_t block_of(int tile) const {
    const int position = tile * kKeys + Team::rank();
    if (Team::rank() >= kKeys || !is_seen(position)) return 0;
    return cache_.cursor.block_ids[position / cache_.cursor.block_size];
  }

  __device__ void note_offsets(int tile) const {
    const int position = tile * kKeys + Team::rank();
    const Slot slot = {block_id_, position % cache_.cursor.block_size};
    const bool is_there = is_seen(position);
    memory_.key_offsets()[offset_index(Team::rank())] =
        is_there ? cache_.keys.offsets.of(slot) : kNoKey;
    memory_.value_offsets()[offset_index(Team::rank())] =
        is_there ? cache_.values.offsets.of(slot) : kNoKey;
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
      return Shape::kIsStaged ? dim * Shape::kStoredDimStride + key
                              : Shape::DimTile::index(dim, key);
    };
    copy_dims<kHeadDim, kKeys>(cache_.values, memory_.value_offsets(), memory_.values(stage), index,
                               workers);
  }

  const HeadCache<Stored>& cache_;
  const KeyRange keys_;
  const StreamMemory<Shape> memory_;
  std::int32_t block_id_;
};

}  // namespace recto::kernels

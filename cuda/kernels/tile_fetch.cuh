#pragma once

// Fetches the tiles of a stream whole, for caches in which each tile lies in one block and each of
// its rows is contiguous: one table entry and one address a tile, and copies at fixed distances
// from it, without a test for each. Only the first and the last tile may have missing keys.

#include <kernel_dialect.h>
#include <kernel_ptx.h>

#include <cstdint>

#include "cuda/kernels/decode_row.cuh"
#include "cuda/kernels/head_cache.cuh"
#include "cuda/kernels/stream_shape.cuh"
#include "cuda/kernels/tile_copy.cuh"

namespace recto::kernels {

// Interface as RowFetch, for a warp. The block size is a multiple of kKeys.
template <typename Shape>
class TileFetch {
 public:
  using Team = typename Shape::Team;
  using Stored = typename Shape::Stored;
  static constexpr int kKeys = Shape::kKeys;
  static_assert(Team::kThreads == kWarpLanes);

  __device__ TileFetch(const HeadCache<Stored>& cache, const KeyRange& keys,
                       const StreamMemory<Shape>& memory)
      : keys_(keys),
        key_rows_(lane_rows(cache.keys)),
        value_rows_(lane_rows(cache.values)),
        tile_(memory.keys(0) + lane_key() * Shape::kStoredStride + lane_chunk()),
        block_size_(cache.cursor.block_size),
        slot_(keys.begin / kKeys * kKeys % block_size_),
        next_id_(cache.cursor.block_ids + keys.begin / block_size_),
        block_id_(*next_id_++) {}

  // Starts a tile's copies into a stage. Its table entry was read with the previous tile.
  __device__ void start(int tile, int stage) {
    const int first = tile * kKeys;
    if (first < keys_.end) {
      if (keys_.has_all(first, kKeys)) {
        copy_tile(stage, [](Stored* to, const Stored* from, int) { copy_async_16(to, from); });
      } else {
        copy_tile(stage, [&](Stored* to, const Stored* from, int key) {
          copy_async_16(to, from, keys_.has(first + key) ? kChunkBytes : 0);
        });
      }
      slot_ += kKeys;
      if (slot_ == block_size_) {
        slot_ = 0;
        if (first + kKeys < keys_.end) block_id_ = *next_id_++;
      }
    }
    commit_copies();
  }

  // Waits until the warp may read the oldest tile in flight from its stage.
  __device__ void wait(int /*stage*/) {
    wait_for_copies<Shape::kStages - 1>();
    Team::meet();
  }

  __device__ void end() {}

 private:
  // One instruction copies kSide neighbouring chunks of kRows keys; see chunk_along_row().
  static constexpr int kSide = kCopySide<Shape::kHeadDim / kChunk<Stored>>;
  static constexpr int kColumns = Shape::kHeadDim / kChunk<Stored> / kSide;
  static constexpr int kRows = kWarpLanes / kSide;
  static_assert(kKeys % kRows == 0);

  // A lane's rows of K, or of V: every kRows-th of a tile, from its first chunk on.
  struct LaneRows {
    const Stored* data;
    std::int64_t block_stride;
    std::int64_t slot_stride;
  };

  __device__ static int lane_key() {
    const int set = Team::rank() / 8;
    return set / kSide * 8 + set % kSide + Team::rank() % 8 / kSide * kSide;
  }
  __device__ static int lane_chunk() { return Team::rank() % kSide * kChunk<Stored>; }
  __device__ static LaneRows lane_rows(const HeadTensor<Stored>& tensor) {
    return {tensor.data + tensor.offsets.of({0, lane_key()}) + lane_chunk(),
            tensor.offsets.block_stride, tensor.offsets.slot_stride};
  }

  // copy(to, from, key) copies a chunk of the tile's key number `key`.
  template <typename Copy>
  __device__ void copy_tile(int stage, const Copy& copy) const {
    Stored* to = tile_ + stage * (2 * Shape::kStoredTile);
    copy_rows_of(key_rows_, to, copy);
    copy_rows_of(value_rows_, to + Shape::kStoredTile, copy);
  }
  template <typename Copy>
  __device__ void copy_rows_of(const LaneRows& rows, Stored* to, const Copy& copy) const {
    const Stored* from = rows.data + block_id_ * rows.block_stride + slot_ * rows.slot_stride;
#pragma unroll
    for (int key = 0; key < kKeys; key += kRows) {
#pragma unroll
      for (int column = 0; column < kColumns; ++column) {
        const int chunk = column * kSide * kChunk<Stored>;
        copy(to + key * Shape::kStoredStride + chunk, from + chunk, lane_key() + key);
      }
      from += kRows * rows.slot_stride;
    }
  }

  const KeyRange keys_;
  const LaneRows key_rows_;
  const LaneRows value_rows_;
  Stored* const tile_;  // the lane's first chunk of stage 0
  const int block_size_;
  int slot_;                     // of the next tile to start, within its block
  const std::int32_t* next_id_;  // table entry after block_id_
  std::int32_t block_id_;        // of the next tile to start
};

}  // namespace recto::kernels

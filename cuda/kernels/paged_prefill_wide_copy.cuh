#pragma once

// Copies tiles of 64 keys or values of one KV head for wide prefill. The cache is not packed, and
// its block size is a multiple of sixteen, so a tile consists of four runs of sixteen slots, each
// in one block. Each warp copies one run: it needs one entry of the block table and one address.

#include <kernel_dialect.h>
#include <kernel_ptx.h>

#include <cstdint>

#include "cuda/kernels/block_cursor.cuh"
#include "cuda/kernels/decode_row.cuh"
#include "cuda/kernels/tile.cuh"
#include "cuda/kernels/warp.cuh"

namespace recto::kernels {

inline constexpr int kRunKeys = 16;

// How the lanes of a warp share the chunks of rows: neighbouring lanes have neighbouring chunks of
// one row. So reads are contiguous, and eight lanes at a time write to different banks.
template <typename Element, int kHeadDim>
struct LaneChunks {
  static constexpr int kOfRow = kHeadDim / kChunk<Element>;
  static_assert(kOfRow <= kWarpLanes && kWarpLanes % kOfRow == 0);
  // Rows that a warp accesses at once.
  static constexpr int kRows = kWarpLanes / kOfRow;

  __device__ static int row(int lane) { return lane / kOfRow; }
  __device__ static int dim(int lane) { return lane % kOfRow * kChunk<Element>; }
};

// What a thread block copies. It lies in shared memory, because registers are scarce.
struct RunSource {
  KeyRange visible;               // to any row
  const std::int32_t* block_ids;  // of the sequence
  std::int64_t head_offset;       // in K and V, which have the same strides
};

// What a lane copies of a tile.
struct TileSource {
  std::int64_t offset;  // of its first chunk in K and V
  bool is_whole;        // whether a row sees each key of the warp's run
};

// Walks through the tiles of a context in order. All warps of the thread block call each function.
template <typename Shape>
class RunCopy {
 public:
  using Element = typename Shape::Element;
  using Lanes = LaneChunks<Element, Shape::kHeadDim>;
  using Tile = typename Shape::RowTile;

  // Strides are those of `tensor`.
  __device__ RunCopy(const KvTensorView& tensor, const RunSource& source)
      : tensor_(tensor),
        source_(source),
        lane_offset_(Lanes::row(lane()) * static_cast<int>(tensor.slot_stride) +
                     Lanes::dim(lane())),
        position_(source.visible.begin / Shape::kKeys * Shape::kKeys + warp() * kRunKeys) {
    look_up();
  }

  // Position of the tile's first key.
  __device__ int first() const { return position_ - warp() * kRunKeys; }

  __device__ void advance() {
    position_ += Shape::kKeys;
    if (tile_lane() == 0) look_up();
  }

  // The source of the current tile, computed before the barrier that precedes the copies.
  __device__ TileSource source() const {
    return {__shfl_sync(kAllLanes, run_offset_, tile_lane()) + lane_offset_,
            position_ >= source_.visible.begin && position_ + kRunKeys <= source_.visible.end};
  }

  // Starts the copies of the current tile's K or V.
  __device__ void start(const void* data, const TileSource& source, Element* tile) const {
    const Element* from = static_cast<const Element*>(data) + source.offset;
    const std::int64_t step = Lanes::kRows * tensor_.slot_stride;
    Element* to = tile + Tile::index(warp() * kRunKeys + Lanes::row(lane()), Lanes::dim(lane()));
    if (source.is_whole) {
#pragma unroll
      for (int row = 0; row < kRunKeys; row += Lanes::kRows) {
        copy_async_16(to + Tile::index(row, 0), from);
        from += step;
      }
    } else {
      start_visible(data, from, to);
    }
    commit_copies();
  }

 private:
  static_assert(Shape::Team::kThreads / kWarpLanes == Shape::kKeys / kRunKeys);

  __device__ static int warp() { return static_cast<int>(threadIdx.x) / kWarpLanes; }
  __device__ static int lane() { return static_cast<int>(threadIdx.x) % kWarpLanes; }

  // Which lane knows the offset of the warp's run in the current tile.
  __device__ int tile_lane() const { return position_ / Shape::kKeys % kWarpLanes; }

  // Each lane looks up the warp's run in one of 32 tiles. The table may have no entry for a run
  // without a visible key.
  __device__ void look_up() {
    const int runs_per_block = static_cast<int>(tensor_.block_size) / kRunKeys;
    const std::int64_t position = position_ + std::int64_t{Shape::kKeys} * (lane() - tile_lane());
    run_offset_ = 0;
    if (position >= source_.visible.end || position + kRunKeys <= source_.visible.begin) return;
    const int run = static_cast<int>(position) / kRunKeys;
    const std::int64_t block_id = source_.block_ids[run / runs_per_block];
    run_offset_ = source_.head_offset + block_id * tensor_.block_stride +
                  run % runs_per_block * kRunKeys * tensor_.slot_stride;
  }

  // Slots that no row sees are not read. They become zeros: whatever they hold, it must not be
  // multiplied.
  __device__ void start_visible(const void* data, const Element* from, Element* to) const {
#pragma unroll 1
    for (int row = 0; row < kRunKeys; row += Lanes::kRows) {
      const bool is_there = source_.visible.has(position_ + row + Lanes::row(lane()));
      copy_async_16(to + Tile::index(row, 0), is_there ? from : static_cast<const Element*>(data),
                    is_there ? kChunkBytes : 0);
      from += Lanes::kRows * tensor_.slot_stride;
    }
  }

  const KvTensorView& tensor_;
  const RunSource& source_;
  const int lane_offset_;
  int position_;             // of the warp's first key in the tile
  std::int64_t run_offset_;  // of the warp's run in the lane's tile
};

}  // namespace recto::kernels

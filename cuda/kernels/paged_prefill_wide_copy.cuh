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
  int runs_per_block;
  // From a run to the same warp's run in the next tile.
  int next_block;
  int next_run;
};

template <int kTileKeys>
__device__ inline RunSource run_source(const KvTensorView& tensor, const BlockTableView& table,
                                       std::int64_t sequence, std::int64_t kv_head,
                                       const KeyRange& visible) {
  constexpr int kTileRuns = kTileKeys / kRunKeys;
  RunSource source;
  source.visible = visible;
  source.block_ids = table.data + sequence * table.row_stride;
  source.head_offset = kv_head * tensor.head_stride;
  source.runs_per_block = static_cast<int>(tensor.block_size) / kRunKeys;
  source.next_block = kTileRuns / source.runs_per_block;
  source.next_run = kTileRuns % source.runs_per_block;
  return source;
}

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
        position_(source.visible.begin / Shape::kKeys * Shape::kKeys + warp() * kRunKeys),
        block_(position_ / kRunKeys / source.runs_per_block),
        run_in_block_(position_ / kRunKeys % source.runs_per_block) {
    read_block_id();
  }

  // Position of the tile's first key.
  __device__ int first() const { return position_ - warp() * kRunKeys; }

  // Advances to the next tile. Its block's id is read ahead of the copies.
  __device__ void advance() {
    position_ += Shape::kKeys;
    block_ += source_.next_block;
    run_in_block_ += source_.next_run;
    if (run_in_block_ >= source_.runs_per_block) {
      run_in_block_ -= source_.runs_per_block;
      ++block_;
    }
    read_block_id();
  }

  // Starts the copies of one tile, from K or V. Slots that no row sees are not read; they become
  // zeros, because whatever they hold must not be multiplied.
  __device__ void copy(const void* data, Element* tile) const {
    const auto* from = static_cast<const Element*>(data) + source_.head_offset + lane_offset_ +
                       static_cast<std::uint64_t>(static_cast<std::uint32_t>(block_id_)) *
                           static_cast<std::uint64_t>(tensor_.block_stride) +
                       run_in_block_ * kRunKeys * tensor_.slot_stride;
    const std::int64_t step = Lanes::kRows * tensor_.slot_stride;
    Element* to = tile + Tile::index(warp() * kRunKeys + Lanes::row(lane()), Lanes::dim(lane()));
    if (position_ >= source_.visible.begin && position_ + kRunKeys <= source_.visible.end) {
#pragma unroll
      for (int row = 0; row < kRunKeys; row += Lanes::kRows) {
        copy_async_16(to + Tile::index(row, 0), from);
        from += step;
      }
    } else {
#pragma unroll 1
      for (int row = 0; row < kRunKeys; row += Lanes::kRows) {
        const bool is_there = source_.visible.has(position_ + row + Lanes::row(lane()));
        copy_async_16(to + Tile::index(row, 0), is_there ? from : static_cast<const Element*>(data),
                      is_there ? kChunkBytes : 0);
        from += step;
      }
    }
    commit_copies();
  }

 private:
  static_assert(Shape::Team::kThreads / kWarpLanes == Shape::kKeys / kRunKeys);

  __device__ static int warp() { return static_cast<int>(threadIdx.x) / kWarpLanes; }
  __device__ static int lane() { return static_cast<int>(threadIdx.x) % kWarpLanes; }

  // Without a visible key of the run, the table may have no entry.
  __device__ void read_block_id() {
    if (position_ < source_.visible.end && position_ + kRunKeys > source_.visible.begin) {
      block_id_ = source_.block_ids[block_];
    }
  }

  const KvTensorView& tensor_;
  const RunSource& source_;
  const int lane_offset_;
  int position_;  // of the warp's first key in the tile
  int block_;     // index in block_ids
  int run_in_block_;
  std::int32_t block_id_ = 0;
};

}  // namespace recto::kernels

#pragma once

// The producer of paged_prefill_hopper.cuh: one warp that copies tiles of K and V from the cache. A
// tile consists of runs of slots, each in one block; each lane copies a run as a box.

#include <kernel_dialect.h>
#include <kernel_ptx.h>

#include <cstdint>

#include "cuda/kernels/paged_prefill_hopper_shape.cuh"

namespace recto::kernels {

template <typename Shape>
class RunCopies {
 public:
  using Element = typename Shape::Element;
  static constexpr int kKeys = Shape::kKeys;

  __device__ RunCopies(const HopperPrefillParams& params, const PrefillRows& rows,
                       const KeyRange& visible, int lane)
      : params_(params),
        block_ids_(params.call.block_table.data +
                   rows.sequence * params.call.block_table.row_stride),
        visible_(visible),
        block_size_(static_cast<int>(params.call.kv.k.block_size)),
        head_(static_cast<int>(rows.kv_head) * params.head_step),
        first_(lane * params.run_keys),
        copies_(first_ < kKeys) {}

  // The block of the lane's run in a tile. A run that no row sees has no block and becomes zeros,
  // because what the cache holds there must not be multiplied. Tiles after the last one have none.
  __device__ int block_of(int tile) const {
    if (!copies_ || tile > (visible_.end - 1) / kKeys) return kNoBlock;
    const int position = tile * kKeys + first_;
    const bool is_seen = position < visible_.end && position + params_.run_keys > visible_.begin;
    return is_seen ? block_ids_[position / block_size_] : kNoBlock;
  }

  // Starts the copies of a tile to the ring's stage for `index`. The lane's run lies in `block`.
  __device__ void start(const CUtensorMap& tensor, int tile, int block, TileRing<Shape>& ring,
                        int index) const {
    ring.wait_until_empty(index);
    const int stage = TileRing<Shape>::stage(index);
    if (first_ == 0) arrive_expecting(&ring.full[stage], Shape::kTileBytes);
    __syncwarp();
    if (!copies_) return;
    const int slot = (tile * kKeys + first_) % block_size_;
    const int at[5] = {0, 0, head_, slot / Shape::Tile::kPartRows, block};
    copy_box(ring.tiles[stage] + Shape::Tile::size(first_), &tensor, at, &ring.full[stage]);
  }

 private:
  static constexpr int kNoBlock = -1;  // outside of the tensor

  const HopperPrefillParams& params_;
  const std::int32_t* block_ids_;  // of the sequence
  const KeyRange visible_;         // to any row
  const int block_size_;
  const int head_;
  const int first_;    // key of the lane's run in a tile
  const bool copies_;  // whether there is one
};

// Copies all tiles, in the order in which consumers need them: the keys of the next tile before
// the values of this one. By one warp.
template <typename Shape>
__device__ inline void copy_tiles(const HopperPrefillParams& params, const PrefillRows& rows,
                                  const TeamKeys& keys, HopperMemory<Shape>& memory) {
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  const TileRange tiles = tiles_of(keys, Shape::kKeys);
  const int count = tiles.last - tiles.first;
  if (count == 0) return;
  const RunCopies<Shape> copies(params, rows, keys.any, lane);
  int block = copies.block_of(tiles.first);
  int next_block = copies.block_of(tiles.first + 1);
  copies.start(params.keys, tiles.first, block, memory.keys, 0);
#pragma unroll 1
  for (int index = 0; index < count; ++index) {
    const int tile = tiles.first + index;
    const int later_block = copies.block_of(tile + 2);
    if (index + 1 < count) copies.start(params.keys, tile + 1, next_block, memory.keys, index + 1);
    copies.start(params.values, tile, block, memory.values, index);
    block = next_block;
    next_block = later_block;
  }
}

}  // namespace recto::kernels

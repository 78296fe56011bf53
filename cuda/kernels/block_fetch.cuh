#pragma once

// Fetches the tiles of a stream block by block, for caches in which the slots of a block are
// contiguous, such as head-major ones: one bulk copy transfers all slots of a block that a tile
// needs. The copies of a stage complete on its mbarrier.

#include <kernel_dialect.h>
#include <kernel_ptx.h>

#include <cstdint>

#include "cuda/kernels/decode_row.cuh"
#include "cuda/kernels/head_cache.cuh"
#include "cuda/kernels/stream_shape.cuh"

namespace recto::kernels {

// Interface as RowFetch; a tile of values has a row for each key.
template <typename Shape>
class BlockFetch {
 public:
  using Team = typename Shape::Team;
  using Stored = typename Shape::Stored;
  static constexpr int kHeadDim = Shape::kHeadDim;
  static constexpr int kKeys = Shape::kKeys;
  static constexpr int kStages = Shape::kStages;

  __device__ BlockFetch(const HeadCache<Stored>& cache, const KeyRange& keys,
                        const StreamMemory<Shape>& memory)
      : cache_(cache), keys_(keys), memory_(memory), block_id_(block_of(keys.begin / kKeys)) {
    if (Team::rank() < kStages) init_mbarrier(memory_.mbarriers() + Team::rank(), 1);
    fence_async_proxy();
    Team::meet();
  }

  __device__ void start(int tile, int stage) {
    if (tile * kKeys >= keys_.end) return;
    const int first = max(keys_.begin, tile * kKeys);  // first visible key of the tile
    const int end = min(keys_.end, (tile + 1) * kKeys);
    Mbarrier* arrived = memory_.mbarriers() + stage;
    if (Team::rank() == 0) arrive_expecting(arrived, 2 * row_bytes(end - first));
    if (end - first < kKeys) clear_stage(stage, first % kKeys, first % kKeys + end - first);
    const int position = tile * kKeys + Team::rank();
    const int offset = position % cache_.cursor.block_size;
    if (position >= first && position < end && (position == first || offset == 0)) {
      const int count = min(end - position, cache_.cursor.block_size - offset);
      const Slot slot = {block_id_, offset};
      const int at = Team::rank() * kHeadDim;
      copy_bulk(memory_.keys(stage) + at, cache_.keys.data + cache_.keys.offsets.of(slot),
                row_bytes(count), arrived);
      copy_bulk(memory_.values(stage) + at, cache_.values.data + cache_.values.offsets.of(slot),
                row_bytes(count), arrived);
    }
    block_id_ = block_of(tile + 1);
  }

  __device__ void wait(int stage) {
    wait_at_mbarrier(memory_.mbarriers() + stage, parities_ >> stage & 1);
    parities_ ^= 1U << stage;
    Team::meet();
  }

  // Must be called before the shared memory is reused.
  __device__ void end() {
    if (Team::rank() < kStages) invalidate_mbarrier(memory_.mbarriers() + Team::rank());
    Team::meet();
  }

 private:
  __device__ static constexpr unsigned row_bytes(int rows) {
    return static_cast<unsigned>(rows * kHeadDim * static_cast<int>(sizeof(Stored)));
  }

  // The physical block of a thread's key, from the table; 0 without such a key.
  __device__ std::int32_t block_of(int tile) const {
    const int position = tile * kKeys + Team::rank();
    if (Team::rank() >= kKeys || position < keys_.begin || position >= keys_.end) return 0;
    return cache_.cursor.block_ids[position / cache_.cursor.block_size];
  }

  // Zeroes all rows except [first, end), which copies fill.
  __device__ void clear_stage(int stage, int first, int end) const {
    constexpr int kRowChunks = kHeadDim / kChunk<Stored>;
    for (int i = Team::rank(); i < kKeys * kRowChunks; i += Team::kThreads) {
      const int row = i / kRowChunks;
      if (row >= first && row < end) continue;
      reinterpret_cast<uint4*>(memory_.keys(stage))[i] = make_uint4(0, 0, 0, 0);
      reinterpret_cast<uint4*>(memory_.values(stage))[i] = make_uint4(0, 0, 0, 0);
    }
    fence_async_proxy();  // orders later tiles' copies after it
  }

  const HeadCache<Stored>& cache_;
  const KeyRange keys_;
  const StreamMemory<Shape> memory_;
  std::int32_t block_id_;
  unsigned parities_ = 0;  // of the next phase to wait for, one bit per stage
};

}  // namespace recto::kernels

#pragma once

// What the warps of a thread block of paged_prefill_hopper.cuh share: sizes, shared memory, and the
// range of tiles.

#include <cuda.h>
#include <kernel_dialect.h>
#include <kernel_ptx.h>

#include "cuda/kernels/paged_prefill.cuh"
#include "cuda/kernels/swizzled_tile.cuh"

namespace recto::kernels {

struct HopperPrefillParams {
  PagedPrefillParams call = {};
  // K and V as tensors of five dimensions, the innermost first: 64 dims, 8 slots, groups of 64
  // dims, groups of 8 slots, blocks. A box has the run_keys slots of one KV head.
  CUtensorMap keys = {};
  CUtensorMap values = {};
  int run_keys = 0;
  int head_step = 0;  // from a KV head to the next, in groups of 64 dims
};

template <typename T, int kDims>
struct HopperShape {
  using Element = T;
  using Tile = SwizzledTile<Element, kDims>;
  static constexpr int kHeadDim = kDims;
  static constexpr int kKeys = 128;
  static constexpr int kStages = 2;  // of K, and of V
  // Warpgroups that multiply, with 64 rows each. One more warpgroup copies.
  static constexpr int kConsumers = 2;
  static constexpr int kConsumerRows = 64;
  static constexpr int kRows = kConsumers * kConsumerRows;
  static constexpr int kThreads = (kConsumers + 1) * kWarpgroupThreads;
  // Registers of a thread, in multiples of 8. A thread block has at most 65536.
  static constexpr int kProducerRegisters = 40;
  static constexpr int kConsumerRegisters = 232;
  // Keys whose values one product adds.
  static constexpr int kSliceKeys = 16;
  static constexpr unsigned kTileBytes = kKeys * kHeadDim * sizeof(Element);
};

// A ring of stages for tiles of K, or of V. The producer fills a stage, and all consumers read it.
template <typename Shape>
struct TileRing {
  using Element = typename Shape::Element;

  // The stage, and the parity of its phase, of the tile with this index in the order of copies.
  __device__ static int stage(int index) { return index % Shape::kStages; }
  __device__ static unsigned parity(int index) { return index / Shape::kStages % 2; }

  // By one thread.
  __device__ void init() {
    for (int stage = 0; stage < Shape::kStages; ++stage) {
      init_mbarrier(&full[stage], 1);
      init_mbarrier(&empty[stage], Shape::kConsumers * kWarpgroupThreads / kWarpLanes);
    }
  }
  __device__ void wait_until_full(int index) {
    wait_at_mbarrier(&full[stage(index)], parity(index));
  }
  // Waits until consumers have released the tile before in this stage, if there is one.
  __device__ void wait_until_empty(int index) {
    wait_at_mbarrier(&empty[stage(index)], parity(index) ^ 1U);
  }
  // By each warp of consumers.
  __device__ void release(int index, int lane) {
    if (lane == 0) arrive_at_mbarrier(&empty[stage(index)]);
  }

  alignas(1024) Element tiles[Shape::kStages][Shape::kKeys * Shape::kHeadDim];
  Mbarrier full[Shape::kStages];
  Mbarrier empty[Shape::kStages];
};

template <typename Shape>
struct HopperMemory {
  using Element = typename Shape::Element;

  alignas(1024) Element rows[Shape::kRows * Shape::kHeadDim];  // queries, at last outputs
  TileRing<Shape> keys;
  TileRing<Shape> values;
  // For each consumer, a slice of values with zeros in place of those that are not finite.
  alignas(1024) Element finite[Shape::kConsumers][Shape::kSliceKeys * Shape::kHeadDim];
  KeyRange visible[Shape::kRows];  // what each row sees
};

// Tiles of keys [first, last). All rows see all keys of the tiles [whole_first, whole_last).
struct TileRange {
  int first;
  int whole_first;
  int whole_last;
  int last;
};

__device__ inline TileRange tiles_of(const TeamKeys& keys, int tile_keys) {
  if (keys.any.size() <= 0) return {0, 0, 0, 0};
  const int first = keys.any.begin / tile_keys;
  const int last = (keys.any.end - 1) / tile_keys + 1;
  const int whole_first = (max(keys.all.begin, 0) + tile_keys - 1) / tile_keys;
  const int whole_last = max(keys.all.end, 0) / tile_keys;
  if (whole_last <= whole_first) return {first, first, first, last};
  return {first, whole_first, whole_last, last};
}

}  // namespace recto::kernels

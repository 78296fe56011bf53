#pragma once

// Attention of one query head over a range of its keys, by one warp: tiles of 32 keys, online
// softmax. A warp waits only for its own lanes.

#include <kernel_dialect.h>

#include <cmath>
#include <cstdint>

#include "cuda/kernels/decode_row.cuh"
#include "cuda/kernels/element.cuh"
#include "cuda/kernels/limits.h"
#include "cuda/kernels/softmax_state.cuh"
#include "cuda/kernels/warp.cuh"

namespace recto::kernels {

// One lane per key of a tile: it finds the key's slot, and holds the key's score and weight.
inline constexpr int kTileKeys = kWarpLanes;
static_assert(kContextLengthMax + kTileKeys <= INT32_MAX);
// Four lanes share the product of a key: together they read neighbouring elements, 64 bytes of fp32
// or 32 bytes of a 16-bit type, so that no memory sector is fetched for only a part of it.
inline constexpr int kLanesPerKey = 4;
// Dims of the output per lane: four neighbouring ones of every 128.
inline constexpr int kDimsPerLane = kHeadDimMax / kWarpLanes;

// Shared memory of one warp.
struct WarpScratch {
  std::int64_t* key_offsets;    // [kTileKeys]
  std::int64_t* value_offsets;  // [kTileKeys]
  float* weights;               // [kTileKeys]
};

// A lane's share of q.k: four neighbouring dims of every sixteen.
template <typename Access, typename Element>
__device__ inline float part_of_product(const float* query, const CachedHead<Access, Element>& keys,
                                        std::int64_t key_offset, int part) {
  Four<float> sum = {};
  for (int dim = part * 4; dim < keys.head_dim; dim += kLanesPerKey * 4) {
    add_product(Fours::load(query, dim, keys.head_dim), keys.load(key_offset, dim), sum);
  }
  return sum_of(sum);
}

// q.k of a tile's keys; lane l gets that of key l.
template <typename Access, typename Element>
__device__ inline float product_of_key(const CachedHead<Access, Element>& keys, const float* query,
                                       const std::int64_t* key_offsets, int lane) {
  const int part = lane % kLanesPerKey;
  float parts[kLanesPerKey];
  for (int i = 0; i < kLanesPerKey; ++i) {
    parts[i] = part_of_product(query, keys, key_offsets[lane - part + i], part);
  }
  return sum_in_fours(parts, lane);
}

// o += P V, for the first `count` keys of a tile; `weighted` is o from dim `dim` on, four dims.
template <typename Access, typename Element>
__device__ inline void add_values(const CachedHead<Access, Element>& values,
                                  const WarpScratch& scratch, int count, int dim, float* weighted) {
  Four<float> sum = Fours::load(weighted, 0, kDimsPerLane);
  for (int key = 0; key < count; ++key) {
    add_product(scratch.weights[key], values.load(scratch.value_offsets[key], dim), sum);
  }
  Fours::store(sum, weighted, 0, kDimsPerLane);
}

// The state of one warp's keys; each lane has its own dims.
template <typename Access, typename Query, typename Cached>
__device__ inline SoftmaxState<kDimsPerLane> warp_pass(const DecodeRow<Access, Query, Cached>& row,
                                                       const float* query, const KeyRange& keys,
                                                       const WarpScratch& scratch, int lane) {
  SoftmaxState<kDimsPerLane> state;
  for (int tile = keys.begin; tile < keys.end; tile += kTileKeys) {
    const int count = min(kTileKeys, keys.end - tile);
    // If a tile has fewer keys than lanes, the last key stands in for the missing ones: it is safe
    // to read, and gets no weight there.
    const int position = tile + min(lane, count - 1);
    const Slot slot = row.cursor.slot_of(position);
    scratch.key_offsets[lane] = row.keys.offsets.of(slot);
    scratch.value_offsets[lane] = row.values.offsets.of(slot);
    __syncwarp();

    const float product = product_of_key(row.keys, query, scratch.key_offsets, lane);
    const float score = lane < count ? row.rule.score(product, position) : -INFINITY;
    // Most tiles have no larger score than those before them; one vote detects that.
    if (__any_sync(kAllLanes, score > state.maximum)) {
      state.rescale(fmaxf(state.maximum, warp_max(score)));
    }
    const float weight = expf(score - state.maximum);
    state.sum += weight;  // of the lane's own keys; summed over the warp at the end
    scratch.weights[lane] = weight;
    __syncwarp();

    for (int i = 0; i < kDimsPerLane; i += 4) {
      const int dim = lane * 4 + i * kWarpLanes;
      if (dim < row.values.head_dim) {
        add_values(row.values, scratch, count, dim, state.weighted + i);
      }
    }
    __syncwarp();  // before the next tile overwrites it
  }
  state.sum = warp_sum(state.sum);
  return state;
}

}  // namespace recto::kernels

#pragma once

// Rotary position embedding of one row: pairs of its dims are rotated by angles that grow with the
// position; the caller provides tables of their cosines and sines.

#include <kernel_dialect.h>

#include <cstdint>

#include "cuda/kernels/element.cuh"
#include "cuda/kernels/kv_append.h"
#include "cuda/kernels/kv_scale.cuh"
#include "cuda/kernels/row_move.cuh"

namespace recto::kernels {

// The rotation of rows to a position.
struct Turn {
  Rotary rotary;
  int position;
};

struct DimPair {
  int first;
  int second;
};

__device__ inline DimPair dims_of_pair(const Rotary& rotary, int pair) {
  if (rotary.pairing == RotaryPairing::kInterleaved) return {2 * pair, 2 * pair + 1};
  return {pair, pair + static_cast<int>(rotary.dim / 2)};
}

// Whether the tables contain this position.
__device__ inline bool has_position(const Rotary& rotary, int position) {
  return position >= 0 && (rotary.dim == 0 || position < rotary.cosines.num_rows);
}

__device__ inline float table_entry(const RowsView& table, std::int64_t position, int pair) {
  const std::int64_t index = position * table.row_stride + pair;
  switch (table.type) {
    case ElementType::kFp16:
      return convert<float>(static_cast<const __half*>(table.data)[index]);
    case ElementType::kBf16:
      return convert<float>(static_cast<const __nv_bfloat16*>(table.data)[index]);
    default:
      return static_cast<const float*>(table.data)[index];
  }
}

// Called by one warp. Rotates in fp32 and rounds once; dims from rotary.dim on are moved unrotated.
// A lane reads both dims of a pair before it writes them, so `from` and `to` may be the same row.
// `scale` is the target's, if it is fp8.
template <typename Access, typename Source, typename Target>
__device__ inline void move_rotated(const Row<Access, Source>& from, const Row<Access, Target>& to,
                                    std::int64_t head_dim, const Turn& turn, float scale = 1.0F) {
  const Rotary& rotary = turn.rotary;
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  const int pairs = static_cast<int>(rotary.dim / 2);
  for (int pair = lane; pair < pairs; pair += kWarpLanes) {
    const DimPair dims = dims_of_pair(rotary, pair);
    const float cosine = table_entry(rotary.cosines, turn.position, pair);
    const float sine = table_entry(rotary.sines, turn.position, pair);
    const auto x = convert<float>(from.at(dims.first));
    const auto y = convert<float>(from.at(dims.second));
    to.at(dims.first) = quantise<Target>(x * cosine - y * sine, scale);
    to.at(dims.second) = quantise<Target>(y * cosine + x * sine, scale);
  }
  for (int dim = 2 * pairs + lane; dim < static_cast<int>(head_dim); dim += kWarpLanes) {
    to.at(dim) = quantise<Target>(from.at(dim), scale);
  }
}

}  // namespace recto::kernels

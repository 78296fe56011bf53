#pragma once

// Sixteen rows of attention across the lanes of one warp, as tensor cores leave their sums.

#include <kernel_dialect.h>

#include <cmath>

#include "cuda/kernels/warp.cuh"

namespace recto::kernels {

inline constexpr int kTileRows = 16;

// 16 rows by 8 columns: lane 4 g + t has columns 2 t and 2 t + 1 of row g, then of row g + 8.
using Fragment = float[4];

__device__ inline int fragment_row(int lane, int i) { return lane / 4 + i / 2 * 8; }
__device__ inline int fragment_column(int lane, int i) { return lane % 4 * 2 + i % 2; }

// Reduces over the four lanes that share a row; each gets the result.
__device__ inline float row_max(float value) {
  value = fmaxf(value, __shfl_xor_sync(kAllLanes, value, 1));
  return fmaxf(value, __shfl_xor_sync(kAllLanes, value, 2));
}
__device__ inline float row_sum(float value) {
  value += __shfl_xor_sync(kAllLanes, value, 1);
  return value + __shfl_xor_sync(kAllLanes, value, 2);
}

}  // namespace recto::kernels

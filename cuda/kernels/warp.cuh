#pragma once

// Operations of the 32 lanes of a warp together, from register to register.

#include <kernel_dialect.h>

#include <cmath>

namespace recto::kernels {

inline constexpr int kWarpLanes = 32;
inline constexpr unsigned kAllLanes = 0xffffffff;

// Each lane gets the result. After the step for `bit`, lanes that differ only in that bit agree.
__device__ inline float warp_max(float value) {
  for (int bit = kWarpLanes / 2; bit > 0; bit /= 2) {
    value = fmaxf(value, __shfl_xor_sync(kAllLanes, value, bit));
  }
  return value;
}

__device__ inline float warp_sum(float value) {
  for (int bit = kWarpLanes / 2; bit > 0; bit /= 2) {
    value += __shfl_xor_sync(kAllLanes, value, bit);
  }
  return value;
}

// Lanes 4 n to 4 n + 3 hold one part each of the same four sums; lane 4 n + i gets sum i. In each
// step a lane gives away the sums that its partner keeps, so three shuffles replace the eight of
// four separate sums.
__device__ inline float sum_in_fours(const float (&parts)[4], int lane) {
  const bool is_upper = (lane & 2) != 0;
  const float given_0 = is_upper ? parts[0] : parts[2];
  const float given_1 = is_upper ? parts[1] : parts[3];
  const float kept_0 = (is_upper ? parts[2] : parts[0]) + __shfl_xor_sync(kAllLanes, given_0, 2);
  const float kept_1 = (is_upper ? parts[3] : parts[1]) + __shfl_xor_sync(kAllLanes, given_1, 2);
  const bool is_odd = (lane & 1) != 0;
  return (is_odd ? kept_1 : kept_0) + __shfl_xor_sync(kAllLanes, is_odd ? kept_0 : kept_1, 1);
}

}  // namespace recto::kernels

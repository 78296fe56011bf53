#pragma once

// Threads that process one stream of keys together: a warp, or a thread block.

#include <kernel_dialect.h>

#include "cuda/kernels/warp.cuh"

namespace recto::kernels {

struct WarpTeam {
  static constexpr int kThreads = kWarpLanes;
  __device__ static int rank() { return static_cast<int>(threadIdx.x) % kWarpLanes; }
  __device__ static void meet() { __syncwarp(); }
};

template <int kBlockThreads>
struct BlockTeam {
  static constexpr int kThreads = kBlockThreads;
  __device__ static int rank() { return static_cast<int>(threadIdx.x); }
  __device__ static void meet() { __syncthreads(); }
  // Returns nonzero if `own` is nonzero in any thread.
  __device__ static int any(int own) { return __syncthreads_or(own); }
};

}  // namespace recto::kernels

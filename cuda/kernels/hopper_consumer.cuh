#pragma once

// A warpgroup of a thread block that multiplies (a consumer of tiles), and turns of two of them.

#include <kernel_dialect.h>

#include "cuda/kernels/hopper_ptx.cuh"
#include "cuda/kernels/row_fragment.cuh"

namespace recto::kernels {

// Named barriers: consumer i has these ids plus i.
inline constexpr int kTurnBarriers = 1;
inline constexpr int kOwnBarriers = 3;

// The warp of the calling thread. By the shuffle, the compiler knows that all lanes have the same.
__device__ inline int uniform_warp() {
  return __shfl_sync(kAllLanes, static_cast<int>(threadIdx.x) / kWarpLanes, 0);
}

// The calling thread of a consumer with 64 rows.
struct Consumer {
  int index;  // of the consumer
  int warp;   // in the warpgroup
  int lane;

  // The consumers are all warpgroups but the first.
  __device__ static Consumer of_thread() {
    const int warp = uniform_warp();
    return {warp / 4 - 1, warp % 4, static_cast<int>(threadIdx.x) % kWarpLanes};
  }
  __device__ int thread() const { return warp * kWarpLanes + lane; }
  // Rows of the thread block: the warp's first row, and the lane's row in a half of a fragment.
  __device__ int first_row() const { return index * 64 + warp * kTileRows; }
  __device__ int row(int half) const { return first_row() + fragment_row(lane, half * 2); }

  // Waits for the threads of the warpgroup.
  __device__ void meet() const { wait_at_barrier(kOwnBarriers + index, kWarpgroupThreads); }
  __device__ bool any(int condition) const {
    return any_at_barrier(kOwnBarriers + index, kWarpgroupThreads, condition);
  }
};

// Consumer 0 has the first turn, then both alternate, until each has had `count` turns.
template <int kConsumers>
class Turns {
 public:
  __device__ Turns(const Consumer& consumer, int count) : index_(consumer.index), left_(count) {
    if (kConsumers == 2 && index_ == 1 && count > 0) arrive_at_barrier(kTurnBarriers, kBoth);
  }
  __device__ void wait() const {
    if (kConsumers == 2) wait_at_barrier(kTurnBarriers + index_, kBoth);
  }
  // No consumer waits after the last turn of consumer 1.
  __device__ void pass() {
    --left_;
    if (kConsumers == 2 && (index_ == 0 || left_ > 0)) {
      arrive_at_barrier(kTurnBarriers + 1 - index_, kBoth);
    }
  }

 private:
  static constexpr int kBoth = 2 * kWarpgroupThreads;

  int index_;
  int left_;
};

}  // namespace recto::kernels

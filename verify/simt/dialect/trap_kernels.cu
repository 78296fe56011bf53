#include "verify/simt/dialect/trap_kernels.cuh"

__global__ void give_up(Trap trap, int* out) {
  if (threadIdx.x == 3 && trap == Trap::kTrap) __trap();
  if (threadIdx.x == 3 && trap == Trap::kFailedAssertion) {
    // What assert() calls where NDEBUG is not defined.
    __assert_fail("trap == Trap::kNone", __FILE__, __LINE__, __func__);
  }
  out[threadIdx.x] = 1;
}

#include "verify/simt/dialect/testdata/trap_kernels.cuh"

__global__ void give_up(Trap trap, int* out) {
  if (threadIdx.x == 3 && trap == Trap::kTrap) __trap();
  assert(threadIdx.x != 3 || trap != Trap::kFailedAssertion);
  out[threadIdx.x] = 1;
}

#pragma once

// The sum of `value` over the 32 threads of a block, through the header's own shared memory.
__device__ inline int sum_of_block(int value) {
  __shared__ int parts[32];
  parts[threadIdx.x] = value;
  __syncthreads();
  int sum = 0;
  for (int i = 0; i < 32; ++i) sum += parts[i];
  return sum;
}

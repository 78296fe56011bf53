#pragma once

// The sum of what the 32 threads of a block give, through shared memory of a header's own.
__device__ inline int sum_of_block(int value) {
  __shared__ int parts[32];
  parts[threadIdx.x] = value;
  __syncthreads();
  int sum = 0;
  for (int i = 0; i < 32; ++i) sum += parts[i];
  return sum;
}

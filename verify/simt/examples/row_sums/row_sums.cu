#include "verify/simt/examples/row_sums/row_sums.cuh"

__global__ void row_sums(const float* in, int length, int pitch, float* out) {
  KERNEL_SHARED(float, parts, [kRowThreads / 32]);
  const float* row = in + blockIdx.x * pitch;
#ifdef ROW_SUMS_READS_PADDING
  length = pitch;
#endif
  float sum = 0.0f;
  // Signed and unsigned, as in typical kernels.
  for (unsigned i = threadIdx.x; i < length; i += kRowThreads) sum += row[i];
  for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(~0u, sum, step);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = sum;
#ifndef ROW_SUMS_FORGETS_BARRIER
  __syncthreads();
#endif
  if (threadIdx.x != 0) return;
  float all = 0.0f;
  for (int warp = 0; warp < kRowThreads / 32; ++warp) all += parts[warp];
  out[blockIdx.x] = all;
}

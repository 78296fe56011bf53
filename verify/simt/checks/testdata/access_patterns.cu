// Kernels that repeat one kind of access.

#include <kernel_dialect.h>

namespace recto::simt {

__global__ void read_global(const float* in, float* out, int count) {
  float sum = 0.0F;
  const unsigned thread = threadIdx.x;
  const unsigned threads = blockDim.x;
  for (int i = 0; i < count; ++i) sum += in[(thread + threads * static_cast<unsigned>(i)) % 65536];
  if (sum == 1.0F) out[thread] = sum;
}

__global__ void write_global(const float*, float* out, int count) {
  const unsigned thread = threadIdx.x;
  const unsigned threads = blockDim.x;
  for (int i = 0; i < count; ++i) {
    out[(thread + threads * static_cast<unsigned>(i)) % 65536] = static_cast<float>(i);
  }
}

__global__ void read_shared(const float*, float* out, int count) {
  KERNEL_SHARED(float, row, [1024]);
  const unsigned thread = threadIdx.x;
  for (unsigned i = thread; i < 1024; i += blockDim.x) row[i] = 0.0F;
  __syncthreads();
  float sum = 0.0F;
  for (int i = 0; i < count; ++i) sum += row[(thread + static_cast<unsigned>(i)) % 1024];
  if (sum == 1.0F) out[thread] = sum;
}

__global__ void write_shared(const float*, float* out, int count) {
  KERNEL_SHARED(float, row, [1024]);
  const unsigned thread = threadIdx.x;
  for (int i = 0; i < count; ++i) {
    row[(thread + 128 * static_cast<unsigned>(i)) % 1024] = static_cast<float>(i);
  }
  if (row[thread] == -1.0F) out[thread] = 1.0F;
}

}  // namespace recto::simt

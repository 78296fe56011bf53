#include "verify/simt/checks/testdata/vector_kernels.cuh"

namespace recto::simt {
namespace {

__device__ int own() { return static_cast<int>(threadIdx.x); }

}  // namespace

__global__ void load_shared_fours(float* out, int shift) {
  KERNEL_SHARED_ALIGNED(16, float, tile, [72]);
  tile[own()] = 1.0F;
  tile[own() + 32] = 2.0F;
  __syncthreads();
  if (own() >= 4) return;
  const auto four = *reinterpret_cast<const float4*>(tile + 4 * own() + shift);
  *reinterpret_cast<float4*>(out + 4 * own()) = four;
}

__global__ void store_shared_twos(float* out, int shift) {
  KERNEL_SHARED_ALIGNED(16, float, tile, [72]);
  *reinterpret_cast<float2*>(tile + 2 * own() + shift) = make_float2(1.0F, 2.0F);
  __syncthreads();
  out[own()] = tile[own() + shift];
}

__global__ void read_unwritten_on_lines(const float* unwritten, float* out) {
  float sum = unwritten[0];
  sum += unwritten[1];
  sum += unwritten[2];
  sum += unwritten[3];
  sum += unwritten[4];
  out[own()] = sum;
}

}  // namespace recto::simt

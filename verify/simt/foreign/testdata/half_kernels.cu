// Typical kernels with NVIDIA's own half-precision types.

#include "half_kernels.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

namespace {

__global__ void dequantise(const __nv_bfloat16* bias, const __nv_fp8_e4m3* codes, float scale,
                           __nv_bfloat16* out, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const float code = static_cast<float>(codes[i]);
  const __nv_bfloat16 value = __hfma(__float2bfloat16(code), __float2bfloat16(scale), __ldcs(bias + i));
  __stcs(out + i, value);
}

// out = exp(2 x) / (the thread block's sum of its first halves)
__global__ void weigh_pairs(const __half2* in, __half2* out) {
  __shared__ float weights[64];
  const __half2 two = __float2half2_rn(2.0f);
  const __half2 zero = __float2half2_rn(0.0f);
  const __half2 weight = h2exp(__hfma2(in[threadIdx.x], two, zero));
  weights[threadIdx.x] = __low2float(weight);
  __threadfence_block();
  __syncthreads();
  float sum = 0.f;
  for (int i = 0; i < blockDim.x; ++i) sum += weights[i];
  out[threadIdx.x] = __floats2half2_rn(fdividef(__low2float(weight), sum),
                                       fdividef(__high2float(weight), sum));
}

// The address is only a multiple of two bytes.
__global__ void add_pairs_at(const half* in, half* out) {
  const half2 pair = *reinterpret_cast<const half2*>(in + 2 * threadIdx.x);
  out[threadIdx.x] = pair.x + pair.y;
}

}  // namespace

void run_dequantise(const void* bias, const void* codes, float scale, void* out, int count) {
  dequantise<<<(count + 63) / 64, 64>>>(
      static_cast<const __nv_bfloat16*>(bias), static_cast<const __nv_fp8_e4m3*>(codes), scale,
      static_cast<__nv_bfloat16*>(out), count);
}

void run_weigh_pairs(const void* in, void* out, int count) {
  weigh_pairs<<<1, count>>>(static_cast<const __half2*>(in), static_cast<__half2*>(out));
}

void run_add_pairs_at(const void* in, void* out, int count) {
  add_pairs_at<<<1, count>>>(static_cast<const half*>(in), static_cast<half*>(out));
}

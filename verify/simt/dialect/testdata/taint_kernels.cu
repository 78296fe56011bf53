#include "verify/simt/dialect/testdata/taint_kernels.cuh"

#include <cmath>

#include <kernel_ptx.h>

namespace {

// One kernel for each function.
template <auto kFunction>
__global__ void map(const float* in, float* out) {
  out[threadIdx.x] = kFunction(in[threadIdx.x]);
}

template <typename T>
__device__ void multiply(const T* a, const T* b, float* out, int left_out) {
  KERNEL_SHARED_ALIGNED(16, T, rows, [16 * 16]);
  KERNEL_SHARED_ALIGNED(16, T, columns, [16 * 8]);
  const unsigned lane = threadIdx.x;
  for (unsigned i = lane; i < 16 * 16; i += 32) rows[i] = a[i];
  for (unsigned i = lane; i < 16 * 8; i += 32) columns[i] = b[i];
  __syncwarp();
  unsigned fragment_a[4];
  unsigned fragment_b[2];
  load_matrix_x4(fragment_a, rows + lane % 16 * 16 + lane / 16 * 8);
  load_matrix_transposed_x2(fragment_b, columns + lane % 16 * 8);
  float sum[4] = {};
  multiply_accumulate_m16n8k16<T>(sum, fragment_a, fragment_b);
  for (unsigned i = 0; i < 4; ++i) {
    const unsigned row = lane / 4 + i / 2 * 8;
    const unsigned column = lane % 4 * 2 + i % 2;
    const bool is_kept = static_cast<int>(column) < 8 - left_out;
    out[row * 8 + column] = is_kept ? sum[i] : 0.0F;
  }
}

}  // namespace

#define RECTO_MAP(...)                                                \
  {                                                                   \
#__VA_ARGS__, map < [](float x) -> float { return __VA_ARGS__; }> \
  }

const NamedMap kMapKernels[kMaps] = {
    RECTO_MAP(__expf(x)),
    RECTO_MAP(__exp10f(x)),
    RECTO_MAP(__logf(x)),
    RECTO_MAP(__log2f(x)),
    RECTO_MAP(__log10f(x)),
    RECTO_MAP(__sinf(x)),
    RECTO_MAP(__cosf(x)),
    RECTO_MAP(__tanf(x)),
    RECTO_MAP(__tanhf(x)),
    RECTO_MAP(__powf(x, 2.0F)),
    RECTO_MAP(__powf(2.0F, x)),
    RECTO_MAP(__fdividef(x, 2.0F)),
    RECTO_MAP(__fdividef(2.0F, x)),
    RECTO_MAP(__saturatef(x)),
    RECTO_MAP(expf(x)),
    RECTO_MAP(exp2f(x)),
    RECTO_MAP(exp10f(x)),
    RECTO_MAP(expm1f(x)),
    RECTO_MAP(logf(x)),
    RECTO_MAP(log2f(x)),
    RECTO_MAP(log10f(x)),
    RECTO_MAP(log1pf(x)),
    RECTO_MAP(sinf(x)),
    RECTO_MAP(cosf(x)),
    RECTO_MAP(tanf(x)),
    RECTO_MAP(tanhf(x)),
    RECTO_MAP(erff(x)),
    RECTO_MAP(rsqrtf(x)),
    RECTO_MAP(powf(x, 2.0F)),
    RECTO_MAP(powf(2.0F, x)),
    RECTO_MAP(fast_exp2(x)),
    RECTO_MAP(fast_tanh(x)),
    RECTO_MAP(sqrtf(x)),
    RECTO_MAP(std::sqrt(x)),
    RECTO_MAP(std::exp(x)),
    RECTO_MAP(std::log(x)),
    RECTO_MAP(fabsf(x)),
    RECTO_MAP(floorf(x)),
    RECTO_MAP(fmaxf(x, 0.25F)),
    RECTO_MAP(fminf(x, 0.25F)),
    RECTO_MAP(fmaf(x, 2.0F, 1.0F)),
    RECTO_MAP(__fadd_rn(x, 1.0F)),
    RECTO_MAP(__fdiv_rn(x, 3.0F)),
    RECTO_MAP(__frcp_rn(x)),
    RECTO_MAP(__fsqrt_rn(x)),
    RECTO_MAP(__frsqrt_rn(x)),
    RECTO_MAP(__fmaf_rn(x, 2.0F, 1.0F)),
    RECTO_MAP(static_cast<float>(__fma_rn(x, 2.0, 1.0))),
    RECTO_MAP(__half2float(__float2half(x))),
    RECTO_MAP(__half2float(__hmul(__float2half(x), __float2half(3.0F)))),
    RECTO_MAP(__half2float(__hfma(__float2half(x), __float2half(3.0F), __float2half(1.0F)))),
    RECTO_MAP(__half2float(__hmax(__float2half(x), __float2half(0.25F)))),
    RECTO_MAP(__bfloat162float(__float2bfloat16(x))),
    RECTO_MAP(static_cast<float>(__nv_fp8_e4m3(x))),
    RECTO_MAP(static_cast<float>(__nv_fp8_e5m2(x))),
    RECTO_MAP(__uint_as_float(__brev(__float_as_uint(x)))),
    RECTO_MAP(static_cast<float>(__float2int_rn(x))),
    RECTO_MAP(__ldg(&x)),
    RECTO_MAP(__shfl_sync(0xffffffff, x, static_cast<int>(threadIdx.x))),
};

__global__ void sum_by_shuffles(const float* in, float* out) {
  float sum = in[threadIdx.x];
  for (int bit = 1; bit < 32; bit *= 2) sum += __shfl_xor_sync(0xffffffff, sum, bit);
  out[threadIdx.x] = sum;
}

__global__ void sum_by_reduction(const int* in, int* out) {
  out[threadIdx.x] = __reduce_add_sync(0xffffffff, in[threadIdx.x]);
}

__global__ void sum_softmax(const float* in, float* out, int context) {
  float sum = 0.0F;
  for (int i = static_cast<int>(threadIdx.x); i < 64; i += 32) {
    const float weight = __expf(in[i]);
    sum += i < context ? weight : 0.0F;
  }
  for (int bit = 1; bit < 32; bit *= 2) sum += __shfl_xor_sync(0xffffffff, sum, bit);
  if (threadIdx.x == 0) out[0] = sum;
}

__global__ void copy_through_shared(const float* in, float* out) {
  KERNEL_SHARED_ALIGNED(16, float, tile, [32]);
  const unsigned thread = threadIdx.x;
  if (thread < 4) copy_async_16(tile + 4 * thread, in + 4 * thread);
  if (thread >= 16) copy_async_4(tile + thread, in + thread);
  commit_copies();
  wait_for_all_copies();
  __syncwarp();
  out[thread] = tile[thread];
}

__global__ void copy_bulk_through_shared(const float* in, float* out) {
  KERNEL_SHARED_ALIGNED(16, float, tile, [32]);
  KERNEL_SHARED(Mbarrier, full, [1]);
  if (threadIdx.x == 0) {
    init_mbarrier(full, 1);
    fence_async_proxy();
    arrive_expecting(full, 128);
    copy_bulk(tile, in, 128, full);
  }
  __syncthreads();
  wait_at_mbarrier(full, 0);
  out[threadIdx.x] = tile[threadIdx.x];
}

__global__ void copy_by_index(const int* index, const int* is_read, const float* in, float* out) {
  KERNEL_SHARED(float, tile, [32]);
  const unsigned thread = threadIdx.x;
  copy_async_4(tile + thread, in + index[thread], is_read[thread] != 0 ? 4 : 0);
  wait_for_all_copies();
  out[thread] = tile[thread];
}

__global__ void change_atomically(AtomicWay way, const float* in, float* place, float* old) {
  const unsigned thread = threadIdx.x;
  auto* words = reinterpret_cast<int*>(place);
  const float value = in[thread];
  switch (way) {
    case AtomicWay::kAdd:
      old[thread] = atomicAdd(place + thread, value);
      return;
    case AtomicWay::kExchange:
      old[thread] = atomicExch(place + thread, value);
      return;
    case AtomicWay::kMaximum:
      old[thread] = __int_as_float(atomicMax(words + thread, __float_as_int(value)));
      return;
    case AtomicWay::kCompareAndSwap:
      old[thread] = __int_as_float(atomicCAS(words + thread, 0, __float_as_int(value)));
      return;
    case AtomicWay::kIncrement:
      old[thread] = __uint_as_float(
          atomicInc(reinterpret_cast<unsigned*>(words) + thread, __float_as_uint(value)));
      return;
    case AtomicWay::kAddDouble:
      if (thread % 2 == 0) {
        auto* place_of_two = reinterpret_cast<double*>(place + thread);
        old[thread] = static_cast<float>(atomicAdd(place_of_two, static_cast<double>(value)));
      }
      return;
  }
}

__global__ void multiply_tainted_half(const __half* a, const __half* b, float* out, int left_out) {
  multiply(a, b, out, left_out);
}
__global__ void multiply_tainted_bfloat16(const __nv_bfloat16* a, const __nv_bfloat16* b,
                                          float* out, int left_out) {
  multiply(a, b, out, left_out);
}

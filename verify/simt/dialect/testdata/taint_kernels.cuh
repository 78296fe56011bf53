#pragma once

// Kernels for tests of taint: each computes from one of its inputs in one way.

#include <cstdint>

#include <kernel_dialect.h>

// out[thread] = f(in[thread]), for one warp.
using MapKernel = void (*)(const float* in, float* out);

struct NamedMap {
  const char* name;
  MapKernel kernel;
};

inline constexpr int kMaps = 59;
extern const NamedMap kMapKernels[kMaps];

// Sums over the warp, by shuffles and by __reduce_add_sync: each output depends on each input.
__global__ void sum_by_shuffles(const float* in, float* out);
__global__ void sum_by_reduction(const int* in, int* out);

// out[0] = the sum of exp(in[i]) over i < context; the kernel reads all 64 numbers.
__global__ void sum_softmax(const float* in, float* out, int context);

// out[thread] = in[thread] through shared memory, by asynchronous copies.
__global__ void copy_through_shared(const float* in, float* out);
__global__ void copy_bulk_through_shared(const float* in, float* out);

// out[thread] = in[index[thread]] if is_read[thread], else 0, by an asynchronous copy.
__global__ void copy_by_index(const int* index, const int* is_read, const float* in, float* out);

// Changes place[thread] by in[thread], and stores its old value in old[thread].
enum class AtomicWay { kAdd, kExchange, kMaximum, kCompareAndSwap, kIncrement, kAddDouble };
__global__ void change_atomically(AtomicWay way, const float* in, float* place, float* old);

// out = a b for one warp, by ldmatrix (transposed for b) and mma; the last `left_out` columns of
// the product are not used.
template <typename T>
using ProductKernel = void (*)(const T* a /* [16, 16] */, const T* b /* [16, 8] */,
                               float* out /* [16, 8] */, int left_out);
__global__ void multiply_tainted_half(const __half* a, const __half* b, float* out, int left_out);
__global__ void multiply_tainted_bfloat16(const __nv_bfloat16* a, const __nv_bfloat16* b,
                                          float* out, int left_out);

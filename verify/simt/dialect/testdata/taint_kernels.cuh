#pragma once

// Kernels for tests of taint: each computes from one of its inputs in one way.

#include <cstdint>

#include <kernel_dialect.h>

// out[thread] = f(in[thread]), of one warp.
using MapKernel = void (*)(const float* in, float* out);

struct NamedMap {
  const char* name;
  MapKernel kernel;
};

inline constexpr int kMaps = 59;
extern const NamedMap kMapKernels[kMaps];

// Sums of the warp, by shuffles and by __reduce_add_sync: all of `out` depends on all of `in`.
__global__ void sum_by_shuffles(const float* in, float* out);
__global__ void sum_by_reduction(const int* in, int* out);

// Of exponentials of the first `context` of 64 numbers, all of which are read: in `out[0]`.
__global__ void sum_softmax(const float* in, float* out, int context);

// in[thread] to out[thread] through shared memory, by copies in the background.
__global__ void copy_through_shared(const float* in, float* out);
__global__ void copy_bulk_through_shared(const float* in, float* out);

// in[index[thread]] to out[thread], if is_read[thread], else 0, by a copy in the background.
__global__ void copy_by_index(const int* index, const int* is_read, const float* in, float* out);

// place[thread] is changed by in[thread], and what was there goes to old[thread].
enum class AtomicWay { kAdd, kExchange, kMaximum, kCompareAndSwap, kIncrement, kAddDouble };
__global__ void change_atomically(AtomicWay way, const float* in, float* place, float* old);

// out = a b of one warp, by ldmatrix (of b transposed) and mma; the last `left_out` columns of the
// product are thrown away.
template <typename T>
using ProductKernel = void (*)(const T* a /* [16, 16] */, const T* b /* [16, 8] */,
                               float* out /* [16, 8] */, int left_out);
__global__ void multiply_tainted_half(const __half* a, const __half* b, float* out, int left_out);
__global__ void multiply_tainted_bfloat16(const __nv_bfloat16* a, const __nv_bfloat16* b,
                                          float* out, int left_out);

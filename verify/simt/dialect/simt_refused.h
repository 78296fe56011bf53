#pragma once

// CUDA names that kernels may not use here: using one is a compile-time error.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <cwchar>
#include <iterator>
#include <numeric>
#include <string>
#include <vector>

#include "verify/simt/dialect/simt_refusal.h"

// Time is not modelled.
RECTO_SIMT_REFUSE(__nanosleep)
RECTO_SIMT_REFUSE(clock64)
RECTO_SIMT_REFUSE(__prof_trigger)

// Shuffles and votes without a mask, which sm_70 and later do not have.
RECTO_SIMT_REFUSE(__shfl)
RECTO_SIMT_REFUSE(__shfl_up)
RECTO_SIMT_REFUSE(__shfl_down)
RECTO_SIMT_REFUSE(__shfl_xor)
RECTO_SIMT_REFUSE(__ballot)
RECTO_SIMT_REFUSE(__any)
RECTO_SIMT_REFUSE(__all)
RECTO_SIMT_REFUSE(__match_all_sync)

// Barriers for some of the warps of a thread block.
RECTO_SIMT_REFUSE(__barrier_sync)
RECTO_SIMT_REFUSE(__barrier_sync_count)
RECTO_SIMT_REFUSE(__named_barrier_sync)

// C++ cannot express what CUDA means by it; KERNEL_SHARED can.
#define __shared__ _Pragma("GCC error \"verify/simt: __shared__ is not supported\"")

// kernel_ptx.h provides the GPU's instructions; those of foreign sources are interpreted.
// (Headers of the C library use __asm__, and those of C++ use what is refused below: the headers
// that kernel files may need are included above, and by the rest of the dialect.)
#if defined(RECTO_SIMT_KERNEL_FILE)
#define asm _Pragma("GCC error \"verify/simt: asm is not supported; kernel_ptx.h has functions\"")
#define __asm__ \
  _Pragma("GCC error \"verify/simt: __asm__ is not supported; kernel_ptx.h has functions\"")
#define __asm \
  _Pragma("GCC error \"verify/simt: __asm is not supported; kernel_ptx.h has functions\"")
#endif

// C++ keywords that the executor does not implement: they would act on the host, be shared by all
// thread blocks, or end the launch halfway.
#if defined(RECTO_SIMT_KERNEL_FILE)
#define throw _Pragma("GCC error \"verify/simt: throw is not supported\"")
#define try _Pragma("GCC error \"verify/simt: try is not supported\"")
#define new _Pragma("GCC error \"verify/simt: new is not supported; there is std::construct_at\"")
#define thread_local _Pragma("GCC error \"verify/simt: thread_local is not supported\"")
#endif

// Device variables that the host shares, and parameters that are not copied.
#define __managed__ _Pragma("GCC error \"verify/simt: __managed__ is not supported\"")
#define __grid_constant__ _Pragma("GCC error \"verify/simt: __grid_constant__ is not supported\"")

// Clusters of thread blocks.
RECTO_SIMT_REFUSE(__cluster_barrier_arrive)
RECTO_SIMT_REFUSE(__cluster_barrier_arrive_relaxed)
RECTO_SIMT_REFUSE(__cluster_barrier_wait)
RECTO_SIMT_REFUSE(__cluster_map_shared_rank)
RECTO_SIMT_REFUSE(__cluster_query_shared_rank)
RECTO_SIMT_REFUSE(__clusterDim)
RECTO_SIMT_REFUSE(__clusterIdx)
RECTO_SIMT_REFUSE(__clusterRelativeBlockIdx)
RECTO_SIMT_REFUSE(__clusterRelativeBlockRank)
#define __cluster_dims__(...) \
  _Pragma("GCC error \"verify/simt: __cluster_dims__ is not supported\"")

// Addresses within a state space: PTX is for kernel_ptx.h.
RECTO_SIMT_REFUSE(__cvta_generic_to_shared)
RECTO_SIMT_REFUSE(__cvta_generic_to_global)
RECTO_SIMT_REFUSE(__cvta_shared_to_generic)
RECTO_SIMT_REFUSE(__isShared)
RECTO_SIMT_REFUSE(__isGlobal)
RECTO_SIMT_REFUSE(__isLocal)

// Asynchronous copies under names other than kernel_ptx.h's.
RECTO_SIMT_REFUSE(__pipeline_memcpy_async)
RECTO_SIMT_REFUSE(__pipeline_commit)
RECTO_SIMT_REFUSE(__pipeline_wait_prior)

// Textures and surfaces.
#define RECTO_SIMT_REFUSE_TEXTURE(name) \
  RECTO_SIMT_REFUSE(name)               \
  RECTO_SIMT_REFUSE(name##Lod)          \
  RECTO_SIMT_REFUSE(name##Grad)
RECTO_SIMT_REFUSE(tex1Dfetch)
RECTO_SIMT_REFUSE(tex2Dgather)
RECTO_SIMT_REFUSE_TEXTURE(tex1D)
RECTO_SIMT_REFUSE_TEXTURE(tex2D)
RECTO_SIMT_REFUSE_TEXTURE(tex3D)
RECTO_SIMT_REFUSE_TEXTURE(tex1DLayered)
RECTO_SIMT_REFUSE_TEXTURE(tex2DLayered)
RECTO_SIMT_REFUSE_TEXTURE(texCubemap)
RECTO_SIMT_REFUSE_TEXTURE(texCubemapLayered)
#undef RECTO_SIMT_REFUSE_TEXTURE
RECTO_SIMT_REFUSE(surf1Dread)
RECTO_SIMT_REFUSE(surf1Dwrite)
RECTO_SIMT_REFUSE(surf2Dread)
RECTO_SIMT_REFUSE(surf2Dwrite)
RECTO_SIMT_REFUSE(surf3Dread)
RECTO_SIMT_REFUSE(surf3Dwrite)

// Launches from within kernels.
RECTO_SIMT_REFUSE(cudaLaunchDevice)
RECTO_SIMT_REFUSE(cudaGetParameterBuffer)
RECTO_SIMT_REFUSE(cudaGridDependencySynchronize)
RECTO_SIMT_REFUSE(cudaTriggerProgrammaticLaunchCompletion)

// Of these, only grid_barrier() exists; for matrices there is kernel_ptx.h.
namespace cooperative_groups {
RECTO_SIMT_REFUSE(this_thread_block)
RECTO_SIMT_REFUSE(this_grid)
RECTO_SIMT_REFUSE(this_cluster)
RECTO_SIMT_REFUSE(coalesced_threads)
RECTO_SIMT_REFUSE(sync)
template <unsigned kSize, typename... T>
int tiled_partition(T...) RECTO_SIMT_REFUSAL(tiled_partition);
struct RECTO_SIMT_REFUSAL(thread_block) thread_block;
struct RECTO_SIMT_REFUSAL(grid_group) grid_group;
}  // namespace cooperative_groups

namespace nvcuda::wmma {
struct accumulator;
struct matrix_a;
struct matrix_b;
struct row_major;
struct col_major;
#define RECTO_SIMT_WMMA_SHAPE int, int, int
template <typename, RECTO_SIMT_WMMA_SHAPE, typename... T>
struct fragment {
  static_assert(sizeof...(T) > 99, "verify/simt: wmma is not supported; kernel_ptx.h has matrices");
};
#undef RECTO_SIMT_WMMA_SHAPE
}  // namespace nvcuda::wmma

// Only in kernel files: the host may use its memory and time as it likes.
#ifdef RECTO_SIMT_KERNEL_FILE
extern "C" clock_t clock() noexcept RECTO_SIMT_REFUSAL(clock);
extern "C" void* malloc(std::size_t bytes) noexcept RECTO_SIMT_REFUSAL(malloc);
extern "C" void free(void* memory) noexcept RECTO_SIMT_REFUSAL(free);
RECTO_SIMT_REFUSE(cudaMemcpyToSymbol)
RECTO_SIMT_REFUSE(cudaMemcpyFromSymbol)
// Names of libcu++, whose headers are refused by name (BUILD file).
namespace cuda::std {
RECTO_SIMT_REFUSE(min)
RECTO_SIMT_REFUSE(max)
RECTO_SIMT_REFUSE(clamp)
RECTO_SIMT_REFUSE(abs)
RECTO_SIMT_REFUSE(swap)
}  // namespace cuda::std
#endif

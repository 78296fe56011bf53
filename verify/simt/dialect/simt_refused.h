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

#define RECTO_SIMT_REFUSAL(name) \
  __attribute__((                \
      unavailable("verify/simt: " #name " is not supported; docs/executor.md lists what is")))

// With any arguments, and any template arguments.
#define RECTO_SIMT_REFUSE(name) \
  template <typename...>        \
  int name(...) RECTO_SIMT_REFUSAL(name);

// Applies a macro to each name. Each expansion may use up one scan, of which there are 27.
#define RECTO_SIMT_EACH(macro, ...) RECTO_SIMT_SCAN(RECTO_SIMT_EACH_OF(macro, __VA_ARGS__))
#define RECTO_SIMT_EACH_OF(macro, name, ...) \
  macro(name) __VA_OPT__(RECTO_SIMT_EACH_AGAIN RECTO_SIMT_NO_ARGUMENTS(macro, __VA_ARGS__))
#define RECTO_SIMT_EACH_AGAIN() RECTO_SIMT_EACH_OF
#define RECTO_SIMT_NO_ARGUMENTS ()
#define RECTO_SIMT_SCAN(...) RECTO_SIMT_SCAN_9(RECTO_SIMT_SCAN_9(RECTO_SIMT_SCAN_9(__VA_ARGS__)))
#define RECTO_SIMT_SCAN_9(...) RECTO_SIMT_SCAN_3(RECTO_SIMT_SCAN_3(RECTO_SIMT_SCAN_3(__VA_ARGS__)))
#define RECTO_SIMT_SCAN_3(...) RECTO_SIMT_SCAN_1(RECTO_SIMT_SCAN_1(RECTO_SIMT_SCAN_1(__VA_ARGS__)))
#define RECTO_SIMT_SCAN_1(...) __VA_ARGS__

// Atomics with scopes other than the device.
#define RECTO_SIMT_REFUSE_SCOPES(name) \
  RECTO_SIMT_REFUSE(name##_block)      \
  RECTO_SIMT_REFUSE(name##_system)
RECTO_SIMT_EACH(RECTO_SIMT_REFUSE_SCOPES, atomicAdd, atomicSub, atomicExch, atomicMin, atomicMax,
                atomicInc, atomicDec, atomicCAS, atomicAnd, atomicOr, atomicXor)
#undef RECTO_SIMT_REFUSE_SCOPES
RECTO_SIMT_EACH(RECTO_SIMT_REFUSE, __nv_atomic_load_n, __nv_atomic_store_n, __nv_atomic_fetch_add,
                __nv_atomic_exchange_n, __nv_atomic_compare_exchange_n)

// Directed rounding.
#define RECTO_SIMT_REFUSE_ROUNDINGS(name) \
  RECTO_SIMT_REFUSE(name##_rz)            \
  RECTO_SIMT_REFUSE(name##_ru)            \
  RECTO_SIMT_REFUSE(name##_rd)
RECTO_SIMT_EACH(RECTO_SIMT_REFUSE_ROUNDINGS, __fadd, __fsub, __fmul, __fmaf, __fdiv, __frcp,
                __fsqrt, __dadd, __dsub, __dmul, __ddiv, __fma, __drcp, __dsqrt)
#undef RECTO_SIMT_REFUSE_ROUNDINGS

// Functions that the host's library lacks, in fp64 and in fp32.
#define RECTO_SIMT_REFUSE_WIDTHS(name) \
  RECTO_SIMT_REFUSE(name)              \
  RECTO_SIMT_REFUSE(name##f)
RECTO_SIMT_EACH(RECTO_SIMT_REFUSE_WIDTHS, sinpi, cospi, sincospi, rcbrt, rhypot, norm3d, norm4d,
                rnorm3d, rnorm4d, normcdf, normcdfinv, erfcx, erfinv, erfcinv, cyl_bessel_i0,
                cyl_bessel_i1)
#undef RECTO_SIMT_REFUSE_WIDTHS

// Half-precision functions, whose errors are not documented as precisely; use those of fp32.
RECTO_SIMT_EACH(RECTO_SIMT_REFUSE, hexp, hexp2, hlog, hlog2, hrcp, hrsqrt, hsqrt, htanh, h2exp,
                h2exp2, h2rcp)
struct RECTO_SIMT_REFUSAL(__nv_fp8x2_e4m3) __nv_fp8x2_e4m3;
struct RECTO_SIMT_REFUSAL(__nv_fp8x4_e4m3) __nv_fp8x4_e4m3;
struct RECTO_SIMT_REFUSAL(__nv_fp8x2_e5m2) __nv_fp8x2_e5m2;
struct RECTO_SIMT_REFUSAL(__nv_fp8x4_e5m2) __nv_fp8x4_e5m2;

// SIMD within a word.
RECTO_SIMT_EACH(RECTO_SIMT_REFUSE, __dp4a, __dp2a_lo, __dp2a_hi)
#define RECTO_SIMT_REFUSE_PARTS(name) \
  RECTO_SIMT_REFUSE(name##2)          \
  RECTO_SIMT_REFUSE(name##4)
#define RECTO_SIMT_REFUSE_COMPARISON(name) \
  RECTO_SIMT_REFUSE_PARTS(name##s)         \
  RECTO_SIMT_REFUSE_PARTS(name##u)
RECTO_SIMT_EACH(RECTO_SIMT_REFUSE_PARTS, __vabs, __vabsss, __vneg, __vnegss, __vadd, __vaddss,
                __vaddus, __vsub, __vsubss, __vsubus, __vhaddu)
RECTO_SIMT_EACH(RECTO_SIMT_REFUSE_COMPARISON, __vavg, __vabsdiff, __vsad, __vmax, __vmin)
RECTO_SIMT_EACH(RECTO_SIMT_REFUSE_PARTS, __vcmpeq, __vcmpne)
RECTO_SIMT_EACH(RECTO_SIMT_REFUSE_COMPARISON, __vcmpgt, __vcmpge, __vcmplt, __vcmple)
RECTO_SIMT_EACH(RECTO_SIMT_REFUSE_PARTS, __vseteq, __vsetne)
RECTO_SIMT_EACH(RECTO_SIMT_REFUSE_COMPARISON, __vsetgt, __vsetge, __vsetlt, __vsetle)
#undef RECTO_SIMT_REFUSE_COMPARISON
#undef RECTO_SIMT_REFUSE_PARTS

// Maxima and minima of sums and of three numbers, for dynamic programming.
#define RECTO_SIMT_REFUSE_DPX(name)  \
  RECTO_SIMT_REFUSE(name##_s32)      \
  RECTO_SIMT_REFUSE(name##_u32)      \
  RECTO_SIMT_REFUSE(name##_s16x2)    \
  RECTO_SIMT_REFUSE(name##_u16x2)    \
  RECTO_SIMT_REFUSE(name##_s32_relu) \
  RECTO_SIMT_REFUSE(name##_s16x2_relu)
RECTO_SIMT_EACH(RECTO_SIMT_REFUSE_DPX, __viaddmax, __viaddmin, __vimax, __vimin, __vimax3, __vimin3,
                __vibmax, __vibmin)
#undef RECTO_SIMT_REFUSE_DPX

// Time is not modelled.
RECTO_SIMT_EACH(RECTO_SIMT_REFUSE, __nanosleep, clock64, __prof_trigger)

// Shuffles and votes without a mask, which sm_70 and later do not have.
RECTO_SIMT_EACH(RECTO_SIMT_REFUSE, __shfl, __shfl_up, __shfl_down, __shfl_xor, __ballot, __any,
                __all, __match_all_sync)

// Barriers for some of the warps of a thread block.
RECTO_SIMT_EACH(RECTO_SIMT_REFUSE, __barrier_sync, __barrier_sync_count, __named_barrier_sync)

// C++ cannot express what CUDA means by it; KERNEL_SHARED can.
#define __shared__ _Pragma("GCC error \"verify/simt: __shared__ is not supported\"")

// kernel_ptx.h provides the GPU's instructions. (Headers of the C library use __asm__, and those of
// C++ use features that are refused below. Therefore the headers that kernel files may need are
// included above, and by the rest of the dialect.)
#if defined(RECTO_SIMT_KERNEL_FILE)
#define asm _Pragma("GCC error \"verify/simt: asm is not supported; kernel_ptx.h has functions\"")
#define __asm__ \
  _Pragma("GCC error \"verify/simt: __asm__ is not supported; kernel_ptx.h has functions\"")
#define __asm \
  _Pragma("GCC error \"verify/simt: __asm is not supported; kernel_ptx.h has functions\"")
#endif

// C++ keywords that the executor does not support: they would act on the host, be shared by all
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
RECTO_SIMT_EACH(RECTO_SIMT_REFUSE, __cluster_barrier_arrive, __cluster_barrier_arrive_relaxed,
                __cluster_barrier_wait, __cluster_map_shared_rank, __cluster_query_shared_rank,
                __clusterDim, __clusterIdx, __clusterRelativeBlockIdx, __clusterRelativeBlockRank)
#define __cluster_dims__(...) \
  _Pragma("GCC error \"verify/simt: __cluster_dims__ is not supported\"")

// Addresses within a state space: PTX is for kernel_ptx.h.
RECTO_SIMT_EACH(RECTO_SIMT_REFUSE, __cvta_generic_to_shared, __cvta_generic_to_global,
                __cvta_shared_to_generic, __isShared, __isGlobal, __isLocal)

// Asynchronous copies under names other than kernel_ptx.h's.
RECTO_SIMT_EACH(RECTO_SIMT_REFUSE, __pipeline_memcpy_async, __pipeline_commit,
                __pipeline_wait_prior)

// Textures and surfaces.
#define RECTO_SIMT_REFUSE_TEXTURE(name) \
  RECTO_SIMT_REFUSE(name)               \
  RECTO_SIMT_REFUSE(name##Lod)          \
  RECTO_SIMT_REFUSE(name##Grad)
RECTO_SIMT_EACH(RECTO_SIMT_REFUSE, tex1Dfetch, tex2Dgather)
RECTO_SIMT_EACH(RECTO_SIMT_REFUSE_TEXTURE, tex1D, tex2D, tex3D, tex1DLayered, tex2DLayered,
                texCubemap, texCubemapLayered)
#undef RECTO_SIMT_REFUSE_TEXTURE
RECTO_SIMT_EACH(RECTO_SIMT_REFUSE, surf1Dread, surf1Dwrite, surf2Dread, surf2Dwrite, surf3Dread,
                surf3Dwrite)

// Launches from within kernels.
RECTO_SIMT_EACH(RECTO_SIMT_REFUSE, cudaLaunchDevice, cudaGetParameterBuffer,
                cudaGridDependencySynchronize, cudaTriggerProgrammaticLaunchCompletion)

// grid_barrier() is the only part of cooperative groups here; for matrices there is kernel_ptx.h.
namespace cooperative_groups {
RECTO_SIMT_EACH(RECTO_SIMT_REFUSE, this_thread_block, this_grid, this_cluster, coalesced_threads,
                sync)
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

// Only in kernel files: host code may use memory and time as it likes.
#ifdef RECTO_SIMT_KERNEL_FILE
extern "C" clock_t clock() noexcept RECTO_SIMT_REFUSAL(clock);
extern "C" void* malloc(std::size_t bytes) noexcept RECTO_SIMT_REFUSAL(malloc);
extern "C" void free(void* memory) noexcept RECTO_SIMT_REFUSAL(free);
RECTO_SIMT_EACH(RECTO_SIMT_REFUSE, cudaMemcpyToSymbol, cudaMemcpyFromSymbol)
// Names of libcu++, whose headers are refused by name (BUILD file).
namespace cuda::std {
RECTO_SIMT_EACH(RECTO_SIMT_REFUSE, min, max, clamp, abs, swap)
}  // namespace cuda::std
#endif

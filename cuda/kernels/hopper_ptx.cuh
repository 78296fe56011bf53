#pragma once

// Instructions that only Hopper cards have (sm_90a): products of a warpgroup (wgmma), copies of
// boxes of a tensor (TMA), registers that move between warpgroups, named barriers. For nvcc alone;
// mbarriers are in kernel_ptx.h. The PTX ISA has the details.

#include <cuda.h>
#include <kernel_dialect.h>
#include <kernel_ptx.h>

#include <cstdint>

#include "cuda/kernels/row_fragment.cuh"

namespace recto::kernels {

// Four consecutive warps, the first of them a multiple of four, which multiply together.
inline constexpr int kWarpgroupThreads = 4 * kWarpLanes;

// Orders accesses to registers and shared memory before the products that follow.
__device__ inline void begin_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

// Forms a group of the products since the previous group.
__device__ inline void commit_products() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

// Waits until all groups except the last kGroupsLeft are complete. hold() their sums before use.
template <int kGroupsLeft>
__device__ inline void wait_for_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kGroupsLeft) : "memory");
}

// Keeps the compiler from moving accesses to registers of products across this point.
template <int kBlocks>
__device__ inline void hold(Fragment (&sums)[kBlocks]) {
#pragma unroll
  for (int block = 0; block < kBlocks; ++block) {
#pragma unroll
    for (int i = 0; i < 4; ++i) asm volatile("" : "+f"(sums[block][i])::"memory");
  }
}
template <int kSteps>
__device__ inline void hold(unsigned (&operands)[kSteps][4]) {
#pragma unroll
  for (int step = 0; step < kSteps; ++step) {
#pragma unroll
    for (int i = 0; i < 4; ++i) asm volatile("" : "+r"(operands[step][i])::"memory");
  }
}

// The descriptor of a matrix of 16-bit elements in shared memory, for wgmma: each 1024 bytes hold
// eight rows of 64 columns, whose chunks of 16 bytes are permuted within each row (128-byte
// swizzle). Bytes from such a part to the next one: `columns_stride` (PTX: leading dimension) to
// that of the next columns, `rows_stride` (stride dimension) to that of the next rows.
__device__ inline std::uint64_t matrix_descriptor(const void* shared, unsigned columns_stride,
                                                  unsigned rows_stride) {
  constexpr std::uint64_t kSwizzle128 = 1;
  const auto in_chunks = [](unsigned bytes) -> std::uint64_t { return (bytes & 0x3ffff) >> 4; };
  return in_chunks(recto::kernel_dialect::shared_address(shared)) |
         in_chunks(columns_stride) << 16 | in_chunks(rows_stride) << 32 | kSwizzle128 << 62;
}

// Whether a product overwrites its sums.
enum class Sums : std::uint8_t { kNew = 0, kAddedTo = 1 };

// clang-format off
#define RECTO_SUMS_OF_4(at) "+f"((at)[0]), "+f"((at)[1]), "+f"((at)[2]), "+f"((at)[3])
#define RECTO_SUMS_OF_16(at) \
  RECTO_SUMS_OF_4((at)[0]), RECTO_SUMS_OF_4((at)[1]), \
  RECTO_SUMS_OF_4((at)[2]), RECTO_SUMS_OF_4((at)[3])
#define RECTO_SUMS_OF_32(at) RECTO_SUMS_OF_16(at), RECTO_SUMS_OF_16((at) + 4)
#define RECTO_SUMS_OF_64(at) RECTO_SUMS_OF_32(at), RECTO_SUMS_OF_32((at) + 8)
#define RECTO_NAMES_OF_32 \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
  "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define RECTO_NAMES_OF_64 \
  RECTO_NAMES_OF_32 \
  ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
  "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"

// Operands after the sums: a and b in shared memory, and whether the product is added to the sums.
#define RECTO_MULTIPLY_SHARED(shape, type, names, a, b, adds, sums) \
  asm volatile( \
      "{\n.reg .pred adds;\nsetp.ne.b32 adds, " adds ", 0;\n" \
      "wgmma.mma_async.sync.aligned." shape ".f32." type "." type " {" names "}, " \
      a ", " b ", adds, 1, 1, 0, 0;\n}" \
      : sums : "l"(rows), "l"(columns), "r"(static_cast<int>(kind)))
// Operands after the sums: the four registers of a, and b in shared memory, transposed.
#define RECTO_MULTIPLY_REGISTERS(shape, type, names, a, b, adds, sums) \
  asm volatile( \
      "{\n.reg .pred adds;\nsetp.ne.b32 adds, " adds ", 0;\n" \
      "wgmma.mma_async.sync.aligned." shape ".f32." type "." type " {" names "}, " \
      "{" a "}, " b ", adds, 1, 1, 1;\n}" \
      : sums \
      : "r"(rows[0]), "r"(rows[1]), "r"(rows[2]), "r"(rows[3]), "l"(columns), "r"(1))
// clang-format on

// sums = rows columns^T, or sums += rows columns^T, over 16 dims: rows is [64][16],
// columns is [8 kBlocks][16]; both lie in shared memory with their dims contiguous. Warp w of the
// warpgroup gets rows 16 w to 16 w + 15.
template <typename T, int kBlocks>
__device__ inline void multiply_shared(Fragment (&sums)[kBlocks], std::uint64_t rows,
                                       std::uint64_t columns, Sums kind) {
  static_assert(recto::kernel_dialect::kIsMatrixElement<T> && (kBlocks == 8 || kBlocks == 16));
  constexpr bool kIsHalf = recto::kernel_dialect::kIsHalf<T>;
  if constexpr (kBlocks == 8 && kIsHalf) {
    RECTO_MULTIPLY_SHARED("m64n64k16", "f16", RECTO_NAMES_OF_32, "%32", "%33", "%34",
                          RECTO_SUMS_OF_32(sums));
  } else if constexpr (kBlocks == 8) {
    RECTO_MULTIPLY_SHARED("m64n64k16", "bf16", RECTO_NAMES_OF_32, "%32", "%33", "%34",
                          RECTO_SUMS_OF_32(sums));
  } else if constexpr (kIsHalf) {
    RECTO_MULTIPLY_SHARED("m64n128k16", "f16", RECTO_NAMES_OF_64, "%64", "%65", "%66",
                          RECTO_SUMS_OF_64(sums));
  } else {
    RECTO_MULTIPLY_SHARED("m64n128k16", "bf16", RECTO_NAMES_OF_64, "%64", "%65", "%66",
                          RECTO_SUMS_OF_64(sums));
  }
}

// sums += rows columns, over 16 keys: rows is [64][16], in registers as operand a of
// multiply_accumulate_m16n8k16(); columns is [16][8 kBlocks], with its columns contiguous.
template <typename T, int kBlocks>
__device__ inline void multiply_registers(Fragment (&sums)[kBlocks], const unsigned (&rows)[4],
                                          std::uint64_t columns) {
  static_assert(recto::kernel_dialect::kIsMatrixElement<T> && (kBlocks == 8 || kBlocks == 16));
  constexpr bool kIsHalf = recto::kernel_dialect::kIsHalf<T>;
  if constexpr (kBlocks == 8 && kIsHalf) {
    RECTO_MULTIPLY_REGISTERS("m64n64k16", "f16", RECTO_NAMES_OF_32, "%32, %33, %34, %35", "%36",
                             "%37", RECTO_SUMS_OF_32(sums));
  } else if constexpr (kBlocks == 8) {
    RECTO_MULTIPLY_REGISTERS("m64n64k16", "bf16", RECTO_NAMES_OF_32, "%32, %33, %34, %35", "%36",
                             "%37", RECTO_SUMS_OF_32(sums));
  } else if constexpr (kIsHalf) {
    RECTO_MULTIPLY_REGISTERS("m64n128k16", "f16", RECTO_NAMES_OF_64, "%64, %65, %66, %67", "%68",
                             "%69", RECTO_SUMS_OF_64(sums));
  } else {
    RECTO_MULTIPLY_REGISTERS("m64n128k16", "bf16", RECTO_NAMES_OF_64, "%64, %65, %66, %67", "%68",
                             "%69", RECTO_SUMS_OF_64(sums));
  }
}

#undef RECTO_MULTIPLY_REGISTERS
#undef RECTO_MULTIPLY_SHARED
#undef RECTO_NAMES_OF_64
#undef RECTO_NAMES_OF_32
#undef RECTO_SUMS_OF_64
#undef RECTO_SUMS_OF_32
#undef RECTO_SUMS_OF_16
#undef RECTO_SUMS_OF_4

// Changes the registers of each thread of the calling warpgroup; take_registers() waits until
// another one has given enough.
template <int kRegisters>
__device__ inline void give_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}
template <int kRegisters>
__device__ inline void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

// Named barriers 1 to 15, for `threads` threads of the thread block: those that wait, and those
// that only arrive.
__device__ inline void wait_at_barrier(int barrier, int threads) {
  asm volatile("barrier.cta.sync.aligned %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}
__device__ inline void arrive_at_barrier(int barrier, int threads) {
  asm volatile("barrier.cta.arrive.aligned %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}
// Waits, and returns whether the condition is not 0 in any of them.
__device__ inline bool any_at_barrier(int barrier, int threads, int condition) {
  int any;
  asm volatile(
      "{\n"
      ".reg .pred own, any;\n"
      "setp.ne.b32 own, %1, 0;\n"
      "barrier.cta.red.or.aligned.pred any, %2, %3, own;\n"
      "selp.b32 %0, 1, 0, any;\n"
      "}"
      : "=r"(any)
      : "r"(condition), "r"(barrier), "r"(threads)
      : "memory");
  return any != 0;
}

// Copies a box of a tensor of five dimensions from global to shared memory, by one thread. `at`:
// its first element, the innermost dimension first; what lies outside of the tensor is zero. All of
// the box's bytes count on the mbarrier, and may be read after waiting at it.
__device__ inline void copy_box(void* shared, const CUtensorMap* tensor, const int (&at)[5],
                                Mbarrier* mbarrier) {
  asm volatile(
      "cp.async.bulk.tensor.5d.shared::cluster.global.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%2, %3, %4, %5, %6}], [%7];" ::"r"(
          recto::kernel_dialect::shared_address(shared)),
      "l"(tensor), "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]), "r"(at[4]),
      "r"(recto::kernel_dialect::shared_address(mbarrier))
      : "memory");
}

// Makes ptxas compute a value before the waits for products that follow, because it does not move a
// store across them. The store never runs: the value is not below 0.
__device__ inline void complete_before_waits(float value, void* shared) {
  asm volatile(
      "{\n"
      ".reg .pred stores;\n"
      "setp.lt.f32 stores, %0, 0f00000000;\n"
      "@stores st.shared.f32 [%1], %0;\n"
      "}" ::"f"(value),
      "r"(recto::kernel_dialect::shared_address(shared))
      : "memory");
}

}  // namespace recto::kernels

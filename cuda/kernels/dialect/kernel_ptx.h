#pragma once

// Functions for instructions that CUDA C++ does not name: asynchronous copies, matrices of a warp,
// mbarriers and bulk copies, two fast functions. This file is for nvcc; builds for a CPU use
// another kernel_ptx.h. No other file has inline PTX, but for hopper_ptx.cuh. The PTX ISA has the
// details.

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <kernel_dialect.h>

#include <cstdint>
#include <type_traits>

namespace recto::kernel_dialect {

__device__ inline unsigned shared_address(const void* pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

template <typename T>
inline constexpr bool kIsHalf = std::is_same_v<T, __half>;

template <typename T>
inline constexpr bool kIsMatrixElement = kIsHalf<T> || std::is_same_v<T, __nv_bfloat16>;

}  // namespace recto::kernel_dialect

// 2^x, within 2 ulp; subnormal arguments and results are 0 (ex2.approx.ftz).
__device__ inline float fast_exp2(float x) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

// tanh(x), with a relative error of at most 2^-11 (tanh.approx).
__device__ inline float fast_tanh(float x) {
  float result;
  asm("tanh.approx.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

// Copies 4, 8 or 16 bytes, aligned to that size, from global to shared memory (cp.async). This
// thread may read them after waiting, other threads after a further barrier. With source_bytes,
// only that many bytes are read, and zeros are written for the rest.
__device__ inline void copy_async_4(void* shared, const void* global) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(
                   recto::kernel_dialect::shared_address(shared)),
               "l"(global)
               : "memory");
}
__device__ inline void copy_async_4(void* shared, const void* global, unsigned source_bytes) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(
                   recto::kernel_dialect::shared_address(shared)),
               "l"(global), "r"(source_bytes)
               : "memory");
}
__device__ inline void copy_async_8(void* shared, const void* global) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(
                   recto::kernel_dialect::shared_address(shared)),
               "l"(global)
               : "memory");
}
__device__ inline void copy_async_8(void* shared, const void* global, unsigned source_bytes) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(
                   recto::kernel_dialect::shared_address(shared)),
               "l"(global), "r"(source_bytes)
               : "memory");
}
// Bypasses L1.
__device__ inline void copy_async_16(void* shared, const void* global) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(
                   recto::kernel_dialect::shared_address(shared)),
               "l"(global)
               : "memory");
}
__device__ inline void copy_async_16(void* shared, const void* global, unsigned source_bytes) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(
                   recto::kernel_dialect::shared_address(shared)),
               "l"(global), "r"(source_bytes)
               : "memory");
}

// Waits until the kernels before this one in the stream have ended, of a launch that may begin
// early (griddepcontrol.wait). What they have written is then visible.
__device__ inline void wait_for_earlier_kernels() {
  if constexpr (recto::kernel_dialect::kAreAllCardsHopper) {
    asm volatile("griddepcontrol.wait;" ::: "memory");
  }
}

// The next kernel, if it may begin early, need not wait for more of this thread block than this
// call (griddepcontrol.launch_dependents).
__device__ inline void allow_next_kernel() {
  if constexpr (recto::kernel_dialect::kAreAllCardsHopper) {
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  }
}

// Forms a group of this thread's copies since the previous group.
__device__ inline void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// Waits until all of this thread's groups except the last kGroupsLeft have arrived.
template <int kGroupsLeft>
__device__ inline void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kGroupsLeft) : "memory");
}
__device__ inline void wait_for_all_copies() { asm volatile("cp.async.wait_all;" ::: "memory"); }

// Loads 8x8 matrices of 16-bit elements from shared memory (ldmatrix), by all lanes of a warp. Lane
// 8 i + j gives the address of row j of matrix i: 16 bytes, aligned to 16. Lane t gets elements 2
// (t % 4) and the next one of row t / 4 of matrix i in fragment[i], the first in the lower half; in
// the transposed form, rows are columns.
__device__ inline void load_matrix_x1(unsigned (&fragment)[1], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];"
               : "=r"(fragment[0])
               : "r"(recto::kernel_dialect::shared_address(row))
               : "memory");
}
__device__ inline void load_matrix_x2(unsigned (&fragment)[2], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
               : "=r"(fragment[0]), "=r"(fragment[1])
               : "r"(recto::kernel_dialect::shared_address(row))
               : "memory");
}
__device__ inline void load_matrix_x4(unsigned (&fragment)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(fragment[0]), "=r"(fragment[1]), "=r"(fragment[2]), "=r"(fragment[3])
               : "r"(recto::kernel_dialect::shared_address(row))
               : "memory");
}
__device__ inline void load_matrix_transposed_x1(unsigned (&fragment)[1], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];"
               : "=r"(fragment[0])
               : "r"(recto::kernel_dialect::shared_address(row))
               : "memory");
}
__device__ inline void load_matrix_transposed_x2(unsigned (&fragment)[2], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
               : "=r"(fragment[0]), "=r"(fragment[1])
               : "r"(recto::kernel_dialect::shared_address(row))
               : "memory");
}
__device__ inline void load_matrix_transposed_x4(unsigned (&fragment)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(fragment[0]), "=r"(fragment[1]), "=r"(fragment[2]), "=r"(fragment[3])
               : "r"(recto::kernel_dialect::shared_address(row))
               : "memory");
}

// sum += a b, by all lanes of a warp (mma.sync): a is 16 x 16 (or 16 x 8), b 16 x 8 (8 x 8), sum
// 16 x 8 in fp32; T is __half or __nv_bfloat16. With g = lane / 4 and t = lane % 4:
//   sum[i]  row g (i < 2) or g + 8, column 2 t + i % 2
//   a[i]    row g (i even) or g + 8, columns 2 t and 2 t + 1, from i = 2 on 8 more
//   b[i]    rows 2 t + 8 i and the next one, column g
template <typename T>
__device__ inline void multiply_accumulate_m16n8k16(float (&sum)[4], const unsigned (&a)[4],
                                                    const unsigned (&b)[2]) {
  static_assert(recto::kernel_dialect::kIsMatrixElement<T>, "T is __half or __nv_bfloat16");
  if constexpr (recto::kernel_dialect::kIsHalf<T>) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  } else {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  }
}
template <typename T>
__device__ inline void multiply_accumulate_m16n8k8(float (&sum)[4], const unsigned (&a)[2],
                                                   const unsigned (&b)[1]) {
  static_assert(recto::kernel_dialect::kIsMatrixElement<T>, "T is __half or __nv_bfloat16");
  if constexpr (recto::kernel_dialect::kIsHalf<T>) {
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 "
        "{%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(a[0]), "r"(a[1]), "r"(b[0]));
  } else {
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 "
        "{%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(a[0]), "r"(a[1]), "r"(b[0]));
  }
}

// A barrier in shared memory, accessed only by these functions. A phase ends when all arrivals, and
// all bytes of copies that they announced, have come; then the next phase begins. The parity of a
// phase identifies it: the first one has parity 0.
using Mbarrier = std::uint64_t;

// Whether all target cards have the functions below, which require sm_90. For other cards, ptxas
// rejects code that calls them.
inline constexpr bool kHasBulkCopies = recto::kernel_dialect::kAreAllCardsHopper;

// Whether the kernels for Hopper cards alone are linked, which multiply by warpgroups (wgmma).
inline constexpr bool kHasWarpgroupProducts = true;

// Called by one thread. Other threads, and copies, see it after a barrier and fence_async_proxy().
__device__ inline void init_mbarrier(Mbarrier* mbarrier, unsigned arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(
                   recto::kernel_dialect::shared_address(mbarrier)),
               "r"(arrivals)
               : "memory");
}

// Must be called before the memory is reused.
__device__ inline void invalidate_mbarrier(Mbarrier* mbarrier) {
  asm volatile(
      "mbarrier.inval.shared::cta.b64 [%0];" ::"r"(recto::kernel_dialect::shared_address(mbarrier))
      : "memory");
}

__device__ inline void arrive_at_mbarrier(Mbarrier* mbarrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(
                   recto::kernel_dialect::shared_address(mbarrier))
               : "memory");
}

// Announces copies of this many bytes, and arrives.
__device__ inline void arrive_expecting(Mbarrier* mbarrier, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(
                   recto::kernel_dialect::shared_address(mbarrier)),
               "r"(bytes)
               : "memory");
}

// Whether the phase with this parity has ended; waits for a limited time.
__device__ inline bool try_mbarrier(Mbarrier* mbarrier, unsigned parity) {
  unsigned has_ended;
  asm volatile(
      "{\n"
      ".reg .pred ended;\n"
      "mbarrier.try_wait.parity.shared::cta.b64 ended, [%1], %2;\n"
      "selp.u32 %0, 1, 0, ended;\n"
      "}"
      : "=r"(has_ended)
      : "r"(recto::kernel_dialect::shared_address(mbarrier)), "r"(parity)
      : "memory");
  return has_ended != 0;
}

// Waits until the phase with this parity has ended. Writes before its arrivals, and its copies, are
// then visible.
__device__ inline void wait_at_mbarrier(Mbarrier* mbarrier, unsigned parity) {
  while (!try_mbarrier(mbarrier, parity)) {
  }
}

// Orders the threads' earlier writes before later copies.
__device__ inline void fence_async_proxy() { asm volatile("fence.proxy.async;" ::: "memory"); }

// Copies from global to shared memory, by one thread: a multiple of 16 bytes, aligned to 16
// (cp.async.bulk). The bytes count on the mbarrier, and may be read after waiting at it.
__device__ inline void copy_bulk(void* shared, const void* global, unsigned bytes,
                                 Mbarrier* mbarrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
          "r"(recto::kernel_dialect::shared_address(shared)),
      "l"(global), "r"(bytes), "r"(recto::kernel_dialect::shared_address(mbarrier))
      : "memory");
}

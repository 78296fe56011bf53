#pragma once

// Warp-level matrices, as in cuda/kernels/dialect/kernel_ptx.h, which documents what each lane
// holds and does.

#include <cstdint>

#include "verify/simt/dialect/simt_half_arithmetic.h"
#include "verify/simt/dialect/simt_warp.h"
#include "verify/simt/executor/device_copies.h"
#include "verify/simt/executor/unobserved.h"

namespace recto::simt::device {

// A vector: every compiler loads it at once, and instruments it as one access of 16 bytes.
using MatrixRow = std::uint32_t __attribute__((vector_size(16), may_alias));

// The input and output of one lane.
struct MatrixLoad {
  MatrixRow row;  // of the lanes that give an address
  std::uint32_t fragment[4];
};

enum class MatrixOrder : std::uint8_t { kPlain, kTransposed };

// Loads kCount matrices. (Here and below: payloads and mask as in Collective.)
template <unsigned kCount, MatrixOrder kOrder>
void combine_matrices(void* const* payloads, std::uint32_t mask);

// Touches registers only.
template <int kCount>
RECTO_SIMT_UNOBSERVED void exchange_rows(std::uint32_t* fragment, MatrixRow row,
                                         const Collective& what, Site site) {
  MatrixLoad load = {row, {}};
  collective(0xffffffff, &load, what, site);
  for (int i = 0; i < kCount; ++i) fragment[i] = load.fragment[i];
}

struct FragmentProduct {
  const std::uint32_t* a;
  const std::uint32_t* b;
  float* sum;
};

template <HalfType T, int kDepth>
void combine_product(void* const* payloads, std::uint32_t mask);

}  // namespace recto::simt::device

// Each lane reads its own row, in the kernel's file, so that the access counts as the kernel's.
#define RECTO_SIMT_LOAD_MATRIX(name, count, order)                                             \
  __attribute__((always_inline)) inline void name(unsigned(&fragment)[count], const void* row, \
                                                  RECTO_SIMT_SITE) {                           \
    namespace simt = ::recto::simt::device;                                                    \
    simt::MatrixRow bytes = {};                                                                \
    if (simt::lane() < 8 * count) {                                                            \
      simt::require_shared(row, sizeof bytes, sizeof bytes, {#name, site});                    \
      bytes = *static_cast<const simt::MatrixRow*>(row);                                       \
    }                                                                                          \
    static constexpr ::recto::simt::Collective kLoad = {                                       \
        #name, &simt::combine_matrices<count, simt::MatrixOrder::order>};                      \
    simt::exchange_rows<count>(fragment, bytes, kLoad, site);                                  \
  }
RECTO_SIMT_LOAD_MATRIX(load_matrix_x1, 1, kPlain)
RECTO_SIMT_LOAD_MATRIX(load_matrix_x2, 2, kPlain)
RECTO_SIMT_LOAD_MATRIX(load_matrix_x4, 4, kPlain)
RECTO_SIMT_LOAD_MATRIX(load_matrix_transposed_x1, 1, kTransposed)
RECTO_SIMT_LOAD_MATRIX(load_matrix_transposed_x2, 2, kTransposed)
RECTO_SIMT_LOAD_MATRIX(load_matrix_transposed_x4, 4, kTransposed)
#undef RECTO_SIMT_LOAD_MATRIX

#define RECTO_SIMT_MULTIPLY_ACCUMULATE(name, depth)                                           \
  template <recto::simt::device::HalfType T>                                                  \
  RECTO_SIMT_UNOBSERVED void name(float(&sum)[4], const unsigned(&a)[depth / 4],              \
                                  const unsigned(&b)[depth / 8], RECTO_SIMT_SITE) {           \
    namespace simt = ::recto::simt::device;                                                   \
    simt::FragmentProduct product = {a, b, sum};                                              \
    static constexpr ::recto::simt::Collective kProduct = {#name,                             \
                                                           &simt::combine_product<T, depth>}; \
    simt::collective(0xffffffff, &product, kProduct, site);                                   \
  }
RECTO_SIMT_MULTIPLY_ACCUMULATE(multiply_accumulate_m16n8k16, 16)
RECTO_SIMT_MULTIPLY_ACCUMULATE(multiply_accumulate_m16n8k8, 8)
#undef RECTO_SIMT_MULTIPLY_ACCUMULATE

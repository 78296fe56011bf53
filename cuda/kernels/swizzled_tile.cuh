#pragma once

// Rows of 16-bit elements in shared memory in the 128-byte swizzle of wgmma and TMA
// (hopper_ptx.cuh): parts of eight rows by 64 dims, in which the chunks of a row are permuted, so
// that neither rows nor columns have bank conflicts. Begins at a multiple of 1024 bytes.

#include <kernel_dialect.h>

#include <cstdint>

#include "cuda/kernels/hopper_ptx.cuh"
#include "cuda/kernels/tile.cuh"

namespace recto::kernels {

template <typename Element, int kDims>
struct SwizzledTile {
  static constexpr int kPartRows = 8;
  static constexpr int kPartDims = 64;
  static_assert(sizeof(Element) == 2 && kDims % kPartDims == 0);
  static constexpr int kPartElements = kPartRows * kPartDims;
  // Eight rows, which are contiguous.
  static constexpr int kGroupElements = kPartRows * kDims;

  static constexpr int size(int rows) { return rows * kDims; }

  __device__ static int index(int row, int dim) {
    const int chunk = (dim / kChunk<Element> ^ row) % (kPartDims / kChunk<Element>);
    return row / kPartRows * kGroupElements + dim / kPartDims * kPartElements +
           row % kPartRows * kPartDims + chunk * kChunk<Element> + dim % kChunk<Element>;
  }

  // Descriptors of operands of wgmma: for a sum over dims (Q and K), and for a sum over rows (V).
  __device__ static std::uint64_t by_dims(const Element* tile) {
    return matrix_descriptor(tile, kChunkBytes, bytes(kGroupElements));
  }
  __device__ static std::uint64_t by_rows(const Element* tile) {
    return matrix_descriptor(tile, bytes(kPartElements), bytes(kGroupElements));
  }
  // What to add to a descriptor so that the operand begins at a later dim, row or element.
  __device__ static constexpr std::uint64_t step_of_dims(int dims) {
    return step_of_elements(dims / kPartDims * kPartElements + dims % kPartDims);
  }
  __device__ static constexpr std::uint64_t step_of_rows(int rows) {
    return step_of_elements(rows * kDims);
  }
  __device__ static constexpr std::uint64_t step_of_elements(int elements) {
    return static_cast<std::uint64_t>(bytes(elements) / kChunkBytes);
  }

 private:
  __host__ __device__ static constexpr int bytes(int elements) {
    return elements * static_cast<int>(sizeof(Element));
  }
};

}  // namespace recto::kernels

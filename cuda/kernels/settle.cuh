#pragma once

// What came as it lies in the cache, into a tile: elements as they are, fp8 codes as fp16 or bf16,
// which hold all of them exactly. Scales are left to others.

#include <kernel_dialect.h>

#include <cstdint>
#include <type_traits>

#include "core/element_type.h"
#include "cuda/kernels/element.cuh"
#include "cuda/kernels/tile_copy.cuh"

namespace recto::kernels {

template <typename Element>
__device__ inline Element settled(Element element, __nv_fp8_interpretation_t /*kind*/) {
  return element;
}
template <typename Element>
__device__ inline Element settled(std::uint8_t code, __nv_fp8_interpretation_t kind) {
  return convert<Element>(__half(__nv_cvt_fp8_to_halfraw(code, kind)));
}

// From [kRows][kColumns], side by side, to index(row, column), of which eight neighbours are one
// chunk.
template <typename Shape, int kRows, int kColumns, typename Index>
__device__ inline void settle(const typename Shape::Stored* from, __nv_fp8_interpretation_t kind,
                              typename Shape::Element* tile, const Index& index,
                              const Workers& workers) {
  using Stored = typename Shape::Stored;
  using Element = typename Shape::Element;
  struct alignas(8 * sizeof(Stored)) StoredChunk {
    Stored at[8];
  };
  struct alignas(16) Chunk {
    Element at[8];
  };
  static_assert(sizeof(Chunk) == 16);
  constexpr int kRowChunks = kColumns / 8;
  for (int i = workers.own; i < kRows * kRowChunks; i += workers.count) {
    const StoredChunk stored = *reinterpret_cast<const StoredChunk*>(from + i * 8);
    Chunk chunk;
    for (int j = 0; j < 8; ++j) chunk.at[j] = settled<Element>(stored.at[j], kind);
    *reinterpret_cast<Chunk*>(tile + index(i / kRowChunks, i % kRowChunks * 8)) = chunk;
  }
}

}  // namespace recto::kernels

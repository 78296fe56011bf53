#pragma once

// fp8 codes of a tile as fp16 or bf16, which hold all of them exactly; scales are left to others.

#include <kernel_dialect.h>

#include <cstdint>

#include "core/element_type.h"
#include "cuda/kernels/element.cuh"
#include "cuda/kernels/tile_copy.cuh"

namespace recto::kernels {

// From [kRows][kColumns], side by side, to index(row, column), of which eight neighbours are one
// chunk.
template <int kRows, int kColumns, typename Element, typename Index>
__device__ inline void widen(const std::uint8_t* codes, __nv_fp8_interpretation_t kind,
                             Element* tile, const Index& index, const Workers& workers) {
  struct alignas(8) Codes {
    std::uint8_t at[8];
  };
  struct alignas(16) Elements {
    Element at[8];
  };
  constexpr int kRowChunks = kColumns / 8;
  for (int i = workers.own; i < kRows * kRowChunks; i += workers.count) {
    const Codes from = *reinterpret_cast<const Codes*>(codes + i * 8);
    Elements to;
    for (int j = 0; j < 8; ++j) {
      to.at[j] = convert<Element>(__half(__nv_cvt_fp8_to_halfraw(from.at[j], kind)));
    }
    *reinterpret_cast<Elements*>(tile + index(i / kRowChunks, i % kRowChunks * 8)) = to;
  }
}

}  // namespace recto::kernels

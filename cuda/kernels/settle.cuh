#pragma once

// Converts data from the form of the cache to a tile: elements are unchanged; fp8 codes become fp16
// or bf16, which represent all of them exactly. Does not apply scales.

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

// A tile as fetched: [kRows][kColumns], with rows kStride apart.
template <int kRowCount, int kColumnCount, int kRowStride>
struct StoredTile {
  static constexpr int kRows = kRowCount;
  static constexpr int kColumns = kColumnCount;
  static constexpr int kStride = kRowStride;
};

// Writes to index(row, column); eight neighbouring elements form one chunk.
template <typename Shape, typename Tile, typename Index>
__device__ inline void settle(const typename Shape::Stored* from, __nv_fp8_interpretation_t kind,
                              typename Shape::Element* tile, const Index& index,
                              const Workers& workers) {
  using Stored = typename Shape::Stored;
  using Element = typename Shape::Element;
  struct alignas(kChunkBytes) StoredChunk {
    Stored at[kChunk<Stored>];
  };
  struct alignas(kChunkBytes) Chunk {
    Element at[8];
  };
  static_assert(sizeof(Chunk) == kChunkBytes);
  constexpr int kRowChunks = Tile::kColumns / kChunk<Stored>;
  // Neighbouring threads take the same chunk of neighbouring rows if these are an odd number of
  // chunks apart, and otherwise neighbouring chunks of a row, so that neither reads nor writes have
  // bank conflicts.
  constexpr bool kIsDown = Tile::kStride / kChunk<Stored> % 2 == 1;
  for (int i = workers.own; i < Tile::kRows * kRowChunks; i += workers.count) {
    const int row = kIsDown ? i % Tile::kRows : i / kRowChunks;
    const int first = (kIsDown ? i / Tile::kRows : i % kRowChunks) * kChunk<Stored>;
    const auto stored = *reinterpret_cast<const StoredChunk*>(from + row * Tile::kStride + first);
    for (int part = 0; part < kChunk<Stored>; part += 8) {
      Chunk chunk;
      for (int j = 0; j < 8; ++j) chunk.at[j] = settled<Element>(stored.at[part + j], kind);
      *reinterpret_cast<Chunk*>(tile + index(row, first + part)) = chunk;
    }
  }
}

}  // namespace recto::kernels

#pragma once

// Converts data from the form of the cache to a tile: elements are unchanged; fp8 codes become fp16
// or bf16, which represent all of them exactly. Does not apply scales.

#include <kernel_dialect.h>

#include <cstdint>
#include <type_traits>

#include "core/element_type.h"
#include "cuda/kernels/element.cuh"
#include "cuda/kernels/stream_shape.cuh"
#include "cuda/kernels/tile_copy.cuh"

namespace recto::kernels {

// Eight elements of 16 bits.
template <typename Element>
struct alignas(kChunkBytes) SettledChunk {
  Element at[8];
};

template <__nv_fp8_interpretation_t /*kFormat*/, typename Element>
__device__ inline SettledChunk<Element> settled_eight(const Element* elements) {
  SettledChunk<Element> chunk;
  for (int i = 0; i < 8; ++i) chunk.at[i] = elements[i];
  return chunk;
}
// Codes are converted in pairs, as the hardware's instructions do.
template <__nv_fp8_interpretation_t kFormat, typename Element>
__device__ inline SettledChunk<Element> settled_eight(const __nv_fp8x2_storage_t* pairs) {
  SettledChunk<Element> chunk;
  for (int i = 0; i < 4; ++i) {
    const __half2_raw halves = __nv_cvt_fp8x2_to_halfraw2(pairs[i], kFormat);
    chunk.at[2 * i] = convert<Element>(__half(__half_raw{halves.x}));
    chunk.at[2 * i + 1] = convert<Element>(__half(__half_raw{halves.y}));
  }
  return chunk;
}

// A tile as fetched: [kRows][kColumns], with rows kStride apart.
template <int kRowCount, int kColumnCount, int kRowStride>
struct StoredTile {
  static constexpr int kRows = kRowCount;
  static constexpr int kColumns = kColumnCount;
  static constexpr int kStride = kRowStride;
};

template <__nv_fp8_interpretation_t kFormat, typename Shape, typename Tile, typename Index>
__device__ inline void settle_from(const typename Shape::Stored* from,
                                   typename Shape::Element* tile, const Index& index,
                                   const Workers& workers) {
  using Stored = typename Shape::Stored;
  using Element = typename Shape::Element;
  using Loaded = std::conditional_t<sizeof(Stored) == 1, __nv_fp8x2_storage_t, Stored>;
  struct alignas(kChunkBytes) StoredChunk {
    Loaded at[kChunk<Loaded>];
  };
  constexpr int kRowChunks = Tile::kColumns / kChunk<Stored>;
  constexpr int kEight = 8 * static_cast<int>(sizeof(Stored)) / static_cast<int>(sizeof(Loaded));
  // Neighbouring threads take the same chunk of neighbouring rows if these are an odd number of
  // chunks apart, and otherwise neighbouring chunks of a row, so that neither reads nor writes have
  // bank conflicts.
  constexpr bool kIsDown = Tile::kStride / kChunk<Stored> % 2 == 1;
  constexpr int kChunks = Tile::kRows * kRowChunks;
  // Only kernels that fetch whole tiles have registers for more at a time.
  [[maybe_unused]] constexpr int kUnroll = Shape::kTransfer == Transfer::kTiles ? 4 : 1;
#pragma unroll kUnroll
  for (int begin = 0; begin < kChunks; begin += Shape::Team::kThreads) {
    const int i = begin + workers.own;
    if (begin + Shape::Team::kThreads > kChunks && i >= kChunks) break;
    const int row = kIsDown ? i % Tile::kRows : i / kRowChunks;
    const int first = (kIsDown ? i / Tile::kRows : i % kRowChunks) * kChunk<Stored>;
    const auto stored = *reinterpret_cast<const StoredChunk*>(from + row * Tile::kStride + first);
#pragma unroll
    for (int part = 0; part < kChunk<Stored>; part += 8) {
      *reinterpret_cast<SettledChunk<Element>*>(tile + index(row, first + part)) =
          settled_eight<kFormat, Element>(stored.at + part / 8 * kEight);
    }
  }
}

// Writes to index(row, column); eight neighbouring elements form one chunk.
template <typename Shape, typename Tile, typename Index>
__device__ inline void settle(const typename Shape::Stored* from, __nv_fp8_interpretation_t kind,
                              typename Shape::Element* tile, const Index& index,
                              const Workers& workers) {
  if (sizeof(typename Shape::Stored) > 1 || kind == __NV_E4M3) {
    settle_from<__NV_E4M3, Shape, Tile>(from, tile, index, workers);
  } else {
    settle_from<__NV_E5M2, Shape, Tile>(from, tile, index, workers);
  }
}

}  // namespace recto::kernels

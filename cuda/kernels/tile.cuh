#pragma once

// Tiles of keys and values in shared memory. Accesses to the same 16 bytes of eight neighbouring
// rows have no bank conflicts.

#include <kernel_dialect.h>

#include <cstdint>

#include "cuda/kernels/row_fragment.cuh"

namespace recto::kernels {

// Bytes that one access moves.
inline constexpr int kChunkBytes = 16;

template <typename Element>
inline constexpr int kChunk = kChunkBytes / static_cast<int>(sizeof(Element));

// The chunks of a row that neighbouring copies of a key cover: a power of two up to 8 that divides
// kChunks.
template <int kChunks>
inline constexpr int kCopySide = kChunks % 8 == 0   ? 8
                                 : kChunks % 4 == 0 ? 4
                                 : kChunks % 2 == 0 ? 2
                                                    : 1;

// The index of a key's offset among those of its tile. Lanes that copy neighbouring chunks of
// packed values read the offsets of every eighth key; this order avoids bank conflicts.
__device__ inline int offset_index(int key) { return key ^ (key / 8 % 8); }

// Whether a tile of values has a row for each key, or a row for each dim, as in packed caches.
enum class ValueOrder : std::uint8_t { kKeyRows, kDimRows };

template <typename Element>
struct ValueTile {
  const Element* elements;
  ValueOrder order;
};

// A row stride such that rows are an odd number of chunks apart.
template <typename Element>
__host__ __device__ constexpr int odd_stride(int columns) {
  return (columns / kChunk<Element> | 1) * kChunk<Element>;
}

// [rows][kColumns], a row for each key (or query).
template <typename Element, int kColumns>
struct RowMajorTile {
  static_assert(kColumns % kChunk<Element> == 0);
  static constexpr int kStride = odd_stride<Element>(kColumns);

  __device__ static int index(int row, int column) { return row * kStride + column; }
  static constexpr int size(int rows) { return rows * kStride; }
};

// [kDims][kKeys], a row for each dim: the order of packed values. Rows are short, and their sizes
// are powers of two, so their chunks are permuted instead.
template <typename Element, int kKeys>
struct DimMajorTile {
  static constexpr int kChunks = kKeys / kChunk<Element>;
  static_assert(kChunks == 2 || kChunks == 4 || kChunks == 8);
  static constexpr int kRowsPerTurn = 8 / kChunks;

  __device__ static int index(int dim, int key) {
    const int chunk = key / kChunk<Element> ^ (dim / kRowsPerTurn & (kChunks - 1));
    return dim * kKeys + chunk * kChunk<Element> + key % kChunk<Element>;
  }
  static constexpr int size(int dims) { return dims * kKeys; }
};

// A lane's two dims among the first eight of a key, in the order of fragments, and the distance to
// those of the next eight.
template <typename Element>
struct LaneValues {
  const Element* first;
  const Element* second;
  int next;
};

template <int kHeadDim, int kKeys, typename Element>
__device__ inline LaneValues<Element> lane_values(const ValueTile<Element>& values, int key,
                                                  int lane) {
  const int dim = fragment_column(lane, 0);
  if (values.order == ValueOrder::kKeyRows) {
    const Element* first = values.elements + RowMajorTile<Element, kHeadDim>::index(key, dim);
    return {first, first + 1, 8};
  }
  using Tile = DimMajorTile<Element, kKeys>;
  // Eight rows later, the chunks have the same order again.
  static_assert(8 % (Tile::kRowsPerTurn * Tile::kChunks) == 0);
  return {values.elements + Tile::index(dim, key), values.elements + Tile::index(dim + 1, key),
          8 * kKeys};
}

}  // namespace recto::kernels

#pragma once

// Tiles of keys and values in shared memory. Whatever reads or writes the same 16 bytes of eight
// neighbouring rows meets no bank twice.

#include <kernel_dialect.h>

#include <cstdint>

namespace recto::kernels {

// What one access moves.
inline constexpr int kChunkBytes = 16;

template <typename Element>
inline constexpr int kChunk = kChunkBytes / static_cast<int>(sizeof(Element));

// Where the offset of a key stands among those of its tile. Lanes that copy neighbouring chunks of
// packed values read those of every eighth key, and meet no bank twice.
__device__ inline int offset_index(int key) { return key ^ (key / 8 % 8); }

// Whether a tile of values has a row for each key, or for each dim, as packed caches have them.
enum class ValueOrder : std::uint8_t { kKeyRows, kDimRows };

template <typename Element>
struct ValueTile {
  const Element* elements;
  ValueOrder order;
};

// From row to row, so that rows lie an odd number of chunks apart.
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

// [kDims][kKeys], a row for each dim: the order of packed values. Rows are short and powers of two,
// so that their chunks change places instead.
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

}  // namespace recto::kernels

#pragma once

// Copies keys and values of a tile from the cache to shared memory asynchronously. Slots that no
// row of a tile may see are not read; their elements are zeros.

#include <kernel_dialect.h>
#include <kernel_ptx.h>

#include <cstdint>

#include "core/paged_kv_view.h"
#include "cuda/kernels/block_cursor.cuh"
#include "cuda/kernels/tile.cuh"
#include "cuda/kernels/warp.cuh"

namespace recto::kernels {

// The offset for a missing key.
inline constexpr std::int64_t kNoKey = -1;

// The threads that share a piece of work.
struct Workers {
  int own;
  int count;
};

// How packed values of consecutive keys are copied: several at once, if blocks hold whole aligned
// chunks; otherwise one by one.
enum class KeyAccess : std::uint8_t { kChunks, kSingles };

// The part of K or V of one KV head.
template <typename Stored>
struct HeadTensor {
  const Stored* data;
  HeadOffsets offsets;
  // Distance between the chunks of a key, or between the dims of packed values.
  std::int64_t step;
  KeyAccess key_access;  // of packed values
};

template <typename Stored>
__device__ inline HeadTensor<Stored> head_tensor(const KvTensorView& tensor, std::int64_t head) {
  const bool is_packed = tensor.layout == KvLayout::kPacked;
  return {static_cast<const Stored*>(tensor.data), head_offsets(tensor, head),
          is_packed ? tensor.pack_stride : kChunk<Stored>,
          tensor.block_size % kChunk<Stored> == 0 ? KeyAccess::kChunks : KeyAccess::kSingles};
}

// One of the copies that fill a tile.
struct TileChunk {
  int key;
  int chunk;
};

// Copy number i, if a key's chunks are contiguous. Eight neighbouring copies, which shared memory
// processes together, are in different banks of a tile whose rows are an odd number of chunks
// apart, and the lanes of a warp fetch whole sectors. Rows with an odd number of chunks, in which a
// sector may begin at any chunk, are not split between warps: the remaining lanes of a warp get a
// missing key.
template <int kChunks, int kKeys>
__device__ inline TileChunk chunk_along_row(int i) {
  if constexpr (kChunks % 2 == 1) {
    constexpr int kWarpKeys = kWarpLanes / kChunks;
    const int lane = i % kWarpLanes;
    if (lane >= kWarpKeys * kChunks) return {kKeys, 0};
    return {i / kWarpLanes * kWarpKeys + lane / kChunks, lane % kChunks};
  } else {
    // The eight copies are kSide chunks of 8 / kSide keys, which are every kSide-th of eight keys.
    constexpr int kSide = kCopySide<kChunks>;
    constexpr int kColumns = kChunks / kSide;
    const int set = i / 8 / kColumns;
    return {set / kSide * 8 + set % kSide + i % 8 / kSide * kSide,
            i / 8 % kColumns * kSide + i % kSide};
  }
}
template <int kChunks, int kKeys>
__host__ __device__ constexpr int copies_along_rows() {
  if constexpr (kChunks % 2 == 1) {
    constexpr int kWarpKeys = kWarpLanes / kChunks;
    return (kKeys + kWarpKeys - 1) / kWarpKeys * kWarpLanes;
  } else {
    return kKeys * kChunks;
  }
}

// Copies rows of kHeadDim elements for kKeys keys, which begin at offsets[offset_index(key)], or
// are missing if that is kNoKey. Rows of the tile are `stride` elements apart, an odd number of
// chunks.
template <int kHeadDim, int kKeys, typename Stored>
__device__ inline void copy_rows(const HeadTensor<Stored>& tensor, const std::int64_t* offsets,
                                 Stored* tile, int stride, const Workers& workers) {
  constexpr int kChunks = kHeadDim / kChunk<Stored>;
  const auto copy = [&](const TileChunk& at) {
    if (at.key >= kKeys) return;
    const std::int64_t offset = offsets[offset_index(at.key)];
    const bool is_there = offset != kNoKey;
    copy_async_16(tile + at.key * stride + at.chunk * kChunk<Stored>,
                  tensor.data + (is_there ? offset + at.chunk * tensor.step : 0),
                  is_there ? kChunkBytes : 0);
  };
  if (tensor.step == kChunk<Stored>) {
#pragma unroll 4
    for (int i = workers.own; i < copies_along_rows<kChunks, kKeys>(); i += workers.count) {
      copy(chunk_along_row<kChunks, kKeys>(i));
    }
    // The trip counts of the lanes may differ by one.
    if constexpr (kChunks % 2 == 1) __syncwarp();
  } else {  // packed keys: equal chunks of neighbouring keys are adjacent
#pragma unroll 2
    for (int i = workers.own; i < kKeys * kChunks; i += workers.count) {
      copy({i % kKeys, i / kKeys});
    }
  }
}

// Copies packed values: the tile has a row for each dim, at index(dim, key). If blocks do not hold
// whole chunks, or the first keys of a chunk are missing, its elements are read one by one.
template <int kHeadDim, int kKeys, typename Stored, typename Index>
__device__ inline void copy_dims(const HeadTensor<Stored>& tensor, const std::int64_t* offsets,
                                 Stored* tile, const Index& index, const Workers& workers) {
  struct alignas(kChunkBytes) Chunk {
    Stored at[kChunk<Stored>];
  };
  constexpr int kChunks = kKeys / kChunk<Stored>;
  for (int i = workers.own; i < kHeadDim * kChunks; i += workers.count) {
    const int dim = i / kChunks;
    const int first = i % kChunks * kChunk<Stored>;
    int count = 0;    // existing keys
    int leading = 0;  // existing keys before the first missing one
    for (int key = first; key < first + kChunk<Stored>; ++key) {
      if (offsets[offset_index(key)] == kNoKey) continue;
      leading += count == key - first ? 1 : 0;
      ++count;
    }
    if (tensor.key_access == KeyAccess::kChunks && leading == count) {
      const std::int64_t from = count > 0 ? offsets[offset_index(first)] + dim * tensor.step : 0;
      copy_async_16(tile + index(dim, first), tensor.data + from,
                    static_cast<unsigned>(count * sizeof(Stored)));
    } else {
      Chunk chunk;
#pragma unroll
      for (int j = 0; j < kChunk<Stored>; ++j) {
        const std::int64_t offset = offsets[offset_index(first + j)];
        chunk.at[j] = offset == kNoKey ? Stored{} : tensor.data[offset + dim * tensor.step];
      }
      *reinterpret_cast<Chunk*>(tile + index(dim, first)) = chunk;
    }
  }
}

}  // namespace recto::kernels

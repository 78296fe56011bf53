#pragma once

// Keys and values of a tile from the cache to shared memory, in the background. Of slots that no
// row of a tile may see nothing is read: zeros stand in their place.

#include <kernel_dialect.h>
#include <kernel_ptx.h>

#include <cstdint>

#include "core/paged_kv_view.h"
#include "cuda/kernels/block_cursor.cuh"
#include "cuda/kernels/tile.cuh"

namespace recto::kernels {

// Where there is no key to be read.
inline constexpr std::int64_t kNoKey = -1;

// Threads that share a piece of work.
struct Workers {
  int own;
  int count;
};

// How packed values of consecutive keys are copied: several at once, if blocks hold whole chunks
// and these are aligned, or one by one.
enum class KeyAccess : std::uint8_t { kChunks, kSingles };

// One KV head's part of K or V.
template <typename Stored>
struct HeadTensor {
  const Stored* data;
  HeadOffsets offsets;
  // From a chunk of a key to its next one, and from a dim of packed values to the next one.
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

// Rows of kHeadDim elements for kKeys keys, which begin at offsets[offset_index(key)], or at
// kNoKey. Rows of the tile are `stride` elements apart.
template <int kHeadDim, int kKeys, typename Stored>
__device__ inline void copy_rows(const HeadTensor<Stored>& tensor, const std::int64_t* offsets,
                                 Stored* tile, int stride, const Workers& workers) {
  constexpr int kChunks = kHeadDim / kChunk<Stored>;
#pragma unroll 4
  for (int i = workers.own; i < kKeys * kChunks; i += workers.count) {
    const int key = i / kChunks;
    const int chunk = i % kChunks;
    const std::int64_t offset = offsets[offset_index(key)];
    const bool is_there = offset != kNoKey;
    copy_async_16(tile + key * stride + chunk * kChunk<Stored>,
                  tensor.data + (is_there ? offset + chunk * tensor.step : 0),
                  is_there ? kChunkBytes : 0);
  }
}

// Packed values: a row of the tile for each dim, index(dim, key). Where the first keys of a chunk
// are not there, its elements are copied one by one, too.
template <int kHeadDim, int kKeys, typename Stored, typename Index>
__device__ inline void copy_dims(const HeadTensor<Stored>& tensor, const std::int64_t* offsets,
                                 Stored* tile, const Index& index, const Workers& workers) {
  constexpr int kChunks = kKeys / kChunk<Stored>;
  for (int i = workers.own; i < kHeadDim * kChunks; i += workers.count) {
    const int dim = i / kChunks;
    const int first = i % kChunks * kChunk<Stored>;
    int count = 0;    // of keys that are there
    int leading = 0;  // of these, before the first one that is not
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
      for (int key = first; key < first + kChunk<Stored>; ++key) {
        const std::int64_t offset = offsets[offset_index(key)];
        tile[index(dim, key)] =
            offset == kNoKey ? Stored{} : tensor.data[offset + dim * tensor.step];
      }
    }
  }
}

}  // namespace recto::kernels

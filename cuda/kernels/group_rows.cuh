#pragma once

// One KV head of one sequence, as kernels see it that share its keys among query heads.

#include <kernel_dialect.h>

#include <cstdint>

#include "cuda/kernels/block_cursor.cuh"
#include "cuda/kernels/key_stream.cuh"
#include "cuda/kernels/tile_copy.cuh"

namespace recto::kernels {

__device__ inline float scale_of(const KvScale& scale, std::int64_t kv_head) {
  if (scale.kind == ScaleKind::kNone) return 1.0F;
  return scale.data[scale.kind == ScaleKind::kPerKvHead ? kv_head : 0];
}

template <typename Stored>
__device__ inline HeadCache<Stored> head_cache(const PagedKvView& kv, const BlockTableView& table,
                                               std::int64_t sequence, std::int64_t kv_head) {
  const int block_size = static_cast<int>(kv.k.block_size);
  return {head_tensor<Stored>(kv.k, kv_head),
          head_tensor<Stored>(kv.v, kv_head),
          cursor_of(table, block_size, sequence),
          kv.k.type == ElementType::kE4m3 ? __NV_E4M3 : __NV_E5M2,
          kv.v.layout == KvLayout::kPacked,
          block_size % kChunk<Stored> == 0};
}

}  // namespace recto::kernels

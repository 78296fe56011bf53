#pragma once

// One KV head of one sequence, as seen by kernels that share its keys among query rows.

#include <kernel_dialect.h>

#include <cstdint>
#include <type_traits>

#include "cuda/kernels/block_cursor.cuh"
#include "cuda/kernels/kv_scale.cuh"
#include "cuda/kernels/tile.cuh"
#include "cuda/kernels/tile_copy.cuh"

namespace recto::kernels {

template <typename Stored>
struct HeadCache {
  HeadTensor<Stored> keys;
  HeadTensor<Stored> values;
  BlockCursor cursor;
  __nv_fp8_interpretation_t codes;  // of fp8 caches
  ValueOrder value_order;
};

// The scale of a head of a cache; a Stored of one byte is an fp8 code.
template <typename Stored>
__device__ inline float stored_scale(const KvTensorView& tensor, std::int64_t kv_head) {
  using Element = std::conditional_t<sizeof(Stored) == 1, __nv_fp8_e4m3, Stored>;
  return scale_of<Element>(tensor, kv_head);
}

template <typename Stored>
__device__ inline HeadCache<Stored> head_cache(const PagedKvView& kv, const BlockTableView& table,
                                               std::int64_t sequence, std::int64_t kv_head) {
  const int block_size = static_cast<int>(kv.k.block_size);
  return {head_tensor<Stored>(kv.k, kv_head), head_tensor<Stored>(kv.v, kv_head),
          cursor_of(table, block_size, sequence),
          kv.k.type == ElementType::kE4m3 ? __NV_E4M3 : __NV_E5M2,
          kv.v.layout == KvLayout::kPacked ? ValueOrder::kDimRows : ValueOrder::kKeyRows};
}

}  // namespace recto::kernels

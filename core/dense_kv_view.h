#pragma once

// Views of pools without padding: the strides that each layout implies (core/paged_kv_view.h).

#include <cstdint>

#include "core/element_type.h"
#include "core/paged_kv_view.h"
#include "core/status.h"

namespace recto {

struct KvPoolShape {
  KvLayout layout = KvLayout::kTokenMajor;
  ElementType type = ElementType::kFp32;
  std::int64_t num_blocks = 0;
  std::int64_t block_size = 0;  // slots
  std::int64_t num_kv_heads = 0;
  std::int64_t head_dim_k = 0;
  std::int64_t head_dim_v = 0;
};

// Adjacent dims of K in the packed layout: 16 bytes, one vector load of a GPU thread.
constexpr std::int64_t packed_width_k(ElementType type) { return 16 / element_bytes(type); }
inline constexpr std::int64_t kPackedWidthV = 1;

struct KvPoolElements {
  std::int64_t k = 0;
  std::int64_t v = 0;
};

// Returns how many elements each tensor holds. Invalid input for a size below 1 (a pool may have 0
// blocks), a tensor of 2^63 bytes or more, or, if packed, a head_dim_k that is not a multiple of
// the pack width.
Result<KvPoolElements> count_pool_elements(const KvPoolShape& shape);

// Returns a view of the pool over `k` and `v`, without scales. Each must have room for its
// elements. Same errors as count_pool_elements.
Result<MutablePagedKvView> dense_kv_view(const KvPoolShape& shape, void* k, void* v);

}  // namespace recto

#pragma once

// Views of pools without padding: the strides that a layout means (core/paged_kv_view.h).

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

// Dims of K that lie side by side in the packed layout: 16 bytes, one vector load of a GPU thread.
constexpr std::int64_t packed_width_k(ElementType type) { return 16 / element_bytes(type); }
inline constexpr std::int64_t kPackedWidthV = 1;

struct KvPoolElements {
  std::int64_t k = 0;
  std::int64_t v = 0;
};

// How many elements each tensor holds. Invalid input for a size below 1 (a pool may have 0 blocks),
// a tensor of 2^63 bytes or more, or, if packed, a head_dim_k that is no multiple of its packs.
Result<KvPoolElements> count_pool_elements(const KvPoolShape& shape);

// The pool over `k` and `v`, each with room for its elements; without scales. Fails likewise.
Result<MutablePagedKvView> dense_kv_view(const KvPoolShape& shape, void* k, void* v);

}  // namespace recto

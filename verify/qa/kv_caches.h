#pragma once

// Small caches in memory, K and V with different codes, strides and margins.

#include <cstdint>
#include <vector>

#include "core/attention_views.h"
#include "core/paged_kv_view.h"
#include "reference/testing/kv_pool.h"

namespace recto::verify {

using reference::KvPool;
using reference::RowPool;
using reference::TestPoolShape;

inline TestPoolShape shape_of(KvLayout layout, std::int64_t block_size, std::int64_t padding) {
  return {.layout = layout,
          .type = ElementType::kFp16,
          .num_blocks = 6,
          .block_size = block_size,
          .num_kv_heads = 2,
          .head_dim = 16,
          .pack_width = 8,
          .padding = padding};
}

struct Caches {
  explicit Caches(TestPoolShape shape, std::uint64_t seed)
      : k(shape, seed), v(values_of(shape), seed + 1) {}

  static TestPoolShape values_of(TestPoolShape shape) {
    shape.pack_width = 1;
    shape.padding *= 2;
    return shape;
  }
  MutablePagedKvView view() { return {.k = k.view(), .v = v.view()}; }
  PagedKvView const_view() { return as_const(view()); }

  KvPool k;
  KvPool v;
};

// The codes of a block, slot by slot, whatever their layout.
inline std::vector<std::uint32_t> codes_of(const KvPool& pool, std::int64_t block) {
  std::vector<std::uint32_t> codes;
  for (std::int64_t slot = 0; slot < pool.shape().block_size; ++slot) {
    for (std::int64_t head = 0; head < pool.shape().num_kv_heads; ++head) {
      for (std::int64_t dim = 0; dim < pool.shape().head_dim; ++dim) {
        codes.push_back(pool.code(pool.place(block, head, slot, dim)));
      }
    }
  }
  return codes;
}

}  // namespace recto::verify

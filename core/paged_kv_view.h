#pragma once

// Non-owning views of a paged KV cache: plain fields that the reference, the kernels and the tests
// share. There is no address arithmetic here, so that no user inherits another's mistake in it.
//
// Strides, all in elements, say where element (block, head, slot, dim) is:
//
// clang-format off
//   layout        shape, the outermost dimension first
//   -----------   ----------------------------------------------------------------------------
//   token-major   [num_blocks, block_size, num_kv_heads, head_dim]
//   head-major    [num_blocks, num_kv_heads, block_size, head_dim]
//   packed, K     [num_blocks, num_kv_heads, head_dim / x, block_size, x], x = 16 / element bytes
//   packed, V     [num_blocks, num_kv_heads, head_dim, block_size]
// clang-format on
//
// Token-major is FlashAttention's layout, head-major FlashInfer's, packed that of vLLM v0. The
// shapes above are those of dense pools; gaps may be anywhere. Token-major and head-major merely
// name an order of two strides, which is not enforced: strides alone say where elements are.

#include <cstdint>
#include <ostream>

#include "core/element_type.h"

namespace recto {

enum class KvLayout : std::uint8_t { kTokenMajor, kHeadMajor, kPacked };

constexpr const char* kv_layout_name(KvLayout layout) {
  constexpr const char* kNames[] = {"token-major", "head-major", "packed"};
  return kNames[static_cast<int>(layout)];
}

inline std::ostream& operator<<(std::ostream& out, KvLayout layout) {
  return out << kv_layout_name(layout);
}

enum class ScaleKind : std::uint8_t { kNone, kPerTensor, kPerKvHead };

// The factor that a stored code is multiplied by when it is read; fp8 caches only.
struct KvScale {
  ScaleKind kind = ScaleKind::kNone;
  const float* data = nullptr;  // none, [1] or [num_kv_heads]
};

// The cache of K, or of V, of one layer. `Pointer` is const void* or void*.
template <typename Pointer>
struct BasicKvTensorView {
  Pointer data = nullptr;
  ElementType type = ElementType::kFp32;
  KvLayout layout = KvLayout::kTokenMajor;
  std::int64_t num_blocks = 0;
  std::int64_t block_size = 0;  // slots
  std::int64_t num_kv_heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t block_stride = 0;
  std::int64_t head_stride = 0;
  std::int64_t slot_stride = 0;
  // Packed layout only: `pack_width` consecutive dims are adjacent in memory, and packs are
  // `pack_stride` apart. A pack has x dims in K and one in V.
  std::int64_t pack_width = 0;
  std::int64_t pack_stride = 0;
  KvScale scale = {};
};

using KvTensorView = BasicKvTensorView<const void*>;
using MutableKvTensorView = BasicKvTensorView<void*>;

// K and V of one layer. They have num_blocks, block_size and num_kv_heads in common; each has its
// own head_dim, strides and scale.
template <typename Pointer>
struct BasicPagedKvView {
  BasicKvTensorView<Pointer> k = {};
  BasicKvTensorView<Pointer> v = {};
};

using PagedKvView = BasicPagedKvView<const void*>;
using MutablePagedKvView = BasicPagedKvView<void*>;

// Other memory, with the shape, strides and scale of `view`.
template <typename Pointer, typename OtherPointer>
constexpr BasicKvTensorView<Pointer> view_over(const BasicKvTensorView<OtherPointer>& view,
                                               Pointer data) {
  return {.data = data,
          .type = view.type,
          .layout = view.layout,
          .num_blocks = view.num_blocks,
          .block_size = view.block_size,
          .num_kv_heads = view.num_kv_heads,
          .head_dim = view.head_dim,
          .block_stride = view.block_stride,
          .head_stride = view.head_stride,
          .slot_stride = view.slot_stride,
          .pack_width = view.pack_width,
          .pack_stride = view.pack_stride,
          .scale = view.scale};
}

constexpr KvTensorView as_const(const MutableKvTensorView& view) {
  return view_over<const void*>(view, view.data);
}

constexpr PagedKvView as_const(const MutablePagedKvView& view) {
  return {.k = as_const(view.k), .v = as_const(view.v)};
}

// Maps logical block indices to physical block ids, one row per sequence. Entries past a sequence's
// last block may hold anything.
struct BlockTableView {
  const std::int32_t* data = nullptr;  // [num_seqs, max_blocks]
  std::int64_t num_seqs = 0;
  std::int64_t max_blocks = 0;
  std::int64_t row_stride = 0;  // elements, >= max_blocks
};

// One block to copy, within a cache or from one cache to another.
struct BlockPair {
  std::int32_t source = 0;
  std::int32_t destination = 0;
};

}  // namespace recto

#include "core/dense_kv_view.h"

#include <string>

#include "core/refusal.h"

namespace recto {
namespace {

Result<std::int64_t> count_elements(const KvPoolShape& shape, const char* tensor,
                                    std::int64_t head_dim) {
  // The number of blocks comes last: it may be 0, but the strides of one block must fit even then.
  std::int64_t elements = shape.block_size;
  bool overflows = __builtin_mul_overflow(elements, shape.num_kv_heads, &elements);
  overflows |= __builtin_mul_overflow(elements, head_dim, &elements);
  overflows |= __builtin_mul_overflow(elements, shape.num_blocks, &elements);
  std::int64_t bytes = 0;
  overflows |= __builtin_mul_overflow(elements, element_bytes(shape.type), &bytes);
  if (!overflows) return elements;
  std::string sizes;
  for (const std::int64_t size : {shape.num_blocks, shape.block_size, shape.num_kv_heads}) {
    sizes += std::to_string(size) + " x ";
  }
  return refusal(tensor, "fewer than 2^63 bytes",
                 sizes + std::to_string(head_dim) + " elements of " +
                     std::to_string(element_bytes(shape.type)) + " bytes");
}

MutableKvTensorView dense_tensor(const KvPoolShape& shape, void* data, std::int64_t head_dim,
                                 std::int64_t packed_width) {
  MutableKvTensorView view{.data = data,
                           .type = shape.type,
                           .layout = shape.layout,
                           .num_blocks = shape.num_blocks,
                           .block_size = shape.block_size,
                           .num_kv_heads = shape.num_kv_heads,
                           .head_dim = head_dim,
                           .block_stride = shape.block_size * shape.num_kv_heads * head_dim,
                           .head_stride = shape.block_size * head_dim};
  switch (shape.layout) {
    case KvLayout::kTokenMajor:
      view.head_stride = head_dim;
      view.slot_stride = shape.num_kv_heads * head_dim;
      return view;
    case KvLayout::kHeadMajor:
      view.slot_stride = head_dim;
      return view;
    case KvLayout::kPacked:
      view.slot_stride = packed_width;
      view.pack_width = packed_width;
      view.pack_stride = shape.block_size * packed_width;
      return view;
  }
  RECTO_UNREACHABLE("a fourth layout");
}

}  // namespace

Result<KvPoolElements> count_pool_elements(const KvPoolShape& shape) {
  RECTO_RETURN_IF_ERROR(expect_at_least({"", "num_blocks", shape.num_blocks}, 0));
  RECTO_RETURN_IF_ERROR(expect_at_least({"", "block_size", shape.block_size}, 1));
  RECTO_RETURN_IF_ERROR(expect_at_least({"", "num_kv_heads", shape.num_kv_heads}, 1));
  RECTO_RETURN_IF_ERROR(expect_at_least({"", "head_dim_k", shape.head_dim_k}, 1));
  RECTO_RETURN_IF_ERROR(expect_at_least({"", "head_dim_v", shape.head_dim_v}, 1));
  if (shape.layout == KvLayout::kPacked) {
    RECTO_RETURN_IF_ERROR(expect_multiple({"", "head_dim_k", shape.head_dim_k},
                                          {"", "pack_width", packed_width_k(shape.type)}));
  }
  const Result<std::int64_t> k = count_elements(shape, "k", shape.head_dim_k);
  RECTO_RETURN_IF_ERROR(k.status());
  const Result<std::int64_t> v = count_elements(shape, "v", shape.head_dim_v);
  RECTO_RETURN_IF_ERROR(v.status());
  return KvPoolElements{.k = k.value(), .v = v.value()};
}

Result<MutablePagedKvView> dense_kv_view(const KvPoolShape& shape, void* k, void* v) {
  RECTO_RETURN_IF_ERROR(count_pool_elements(shape).status());
  return MutablePagedKvView{
      .k = dense_tensor(shape, k, shape.head_dim_k, packed_width_k(shape.type)),
      .v = dense_tensor(shape, v, shape.head_dim_v, kPackedWidthV)};
}

}  // namespace recto

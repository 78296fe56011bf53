#include "reference/kv_cache_reader.h"

#include <cstddef>
#include <span>

#include "core/contract.h"
#include "reference/rounding.h"

namespace recto::reference {
namespace {

const std::byte* element_address(const void* data, std::int64_t offset, ElementType type) {
  return static_cast<const std::byte*>(data) + offset * element_bytes(type);
}

std::span<double> span_of(double* values, std::int64_t count) {
  return {values, static_cast<std::size_t>(count)};
}

// The number of contiguous dims of a slot.
std::int64_t run_length(const KvTensorView& view) {
  return view.layout == KvLayout::kPacked ? view.pack_width : view.head_dim;
}

// Writes head_dim contiguous values to `row`.
void read_slot_to(const KvTensorView& view, std::int64_t block, std::int64_t head,
                  std::int64_t slot, double* row) {
  RECTO_CHECK_LE(0, block);
  RECTO_CHECK_LT(block, view.num_blocks);
  RECTO_CHECK_LE(0, head);
  RECTO_CHECK_LT(head, view.num_kv_heads);
  RECTO_CHECK_LE(0, slot);
  RECTO_CHECK_LT(slot, view.block_size);
  const std::int64_t run = run_length(view);
  RECTO_CHECK_GT(run, 0);
  for (std::int64_t dim = 0; dim < view.head_dim; dim += run) {
    const std::int64_t offset = element_offset(view, block, head, slot, dim);
    decode_row(element_address(view.data, offset, view.type), view.type, span_of(row + dim, run));
  }
  if (view.scale.kind == ScaleKind::kNone) return;
  const double scale = scale_of(view, head);
  for (std::int64_t dim = 0; dim < view.head_dim; ++dim) row[dim] *= scale;
}

}  // namespace

std::int64_t element_offset(const KvTensorView& view, std::int64_t block, std::int64_t head,
                            std::int64_t slot, std::int64_t dim) {
  const std::int64_t slot_begin =
      block * view.block_stride + head * view.head_stride + slot * view.slot_stride;
  if (view.layout != KvLayout::kPacked) return slot_begin + dim;
  return slot_begin + dim / view.pack_width * view.pack_stride + dim % view.pack_width;
}

double scale_of(const KvTensorView& view, std::int64_t head) {
  RECTO_CHECK_LE(0, head);
  RECTO_CHECK_LT(head, view.num_kv_heads);
  switch (view.scale.kind) {
    case ScaleKind::kNone:
      return 1.0;
    case ScaleKind::kPerTensor:
      return view.scale.data[0];
    case ScaleKind::kPerKvHead:
      return view.scale.data[head];
  }
  RECTO_UNREACHABLE("all kinds of scale are listed");
}

void read_slot(const KvTensorView& view, std::int64_t block, std::int64_t head, std::int64_t slot,
               Eigen::Ref<Eigen::RowVectorXd> row) {
  RECTO_CHECK_EQ(row.size(), view.head_dim);
  read_slot_to(view, block, head, slot, row.data());
}

Matrix gather_head(const KvTensorView& view, const std::int32_t* block_table_row,
                   std::int64_t context_length, std::int64_t head) {
  Matrix values(context_length, view.head_dim);
  for (std::int64_t token = 0; token < context_length; ++token) {
    const std::int64_t block = block_table_row[token / view.block_size];
    read_slot_to(view, block, head, token % view.block_size, values.data() + token * view.head_dim);
  }
  return values;
}

Matrix read_rows(const RowsView& view, std::int64_t head, std::int64_t first, std::int64_t count) {
  RECTO_CHECK_LE(0, head);
  RECTO_CHECK_LT(head, view.num_heads);
  RECTO_CHECK_LE(0, first);
  RECTO_CHECK_LE(0, count);
  RECTO_CHECK_LE(first + count, view.num_rows);
  Matrix values(count, view.head_dim);
  for (std::int64_t row = 0; row < count; ++row) {
    const std::int64_t offset = (first + row) * view.row_stride + head * view.head_stride;
    decode_row(element_address(view.data, offset, view.type), view.type,
               span_of(values.data() + row * view.head_dim, view.head_dim));
  }
  return values;
}

}  // namespace recto::reference

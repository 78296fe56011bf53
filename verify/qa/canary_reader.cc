#include "verify/qa/canary_reader.h"

#include <cstddef>
#include <span>

#include "reference/rounding.h"

namespace recto::verify {
namespace {

constexpr std::int64_t kUsualPackWidth = 8;  // 16 bytes of fp16

// `number` itself where it is in [0, size).
std::int64_t brought_into(std::int64_t number, std::int64_t size) {
  return (number % size + size) % size;
}

double element_at(const void* data, std::int64_t offset, ElementType type) {
  double value = 0;
  reference::decode_row(static_cast<const std::byte*>(data) + offset * element_bytes(type), type,
                        std::span<double>(&value, 1));
  return value;
}

}  // namespace

Eigen::RowVectorXd CanaryReader::query(std::int64_t row, std::int64_t head) const {
  const RowsView& q = inputs_.q;
  Eigen::RowVectorXd values(q.head_dim);
  for (std::int64_t dim = 0; dim < q.head_dim; ++dim)
    values[dim] = element_at(q.data, row * q.row_stride + head * q.head_stride + dim, q.type);
  return values;
}

reference::Matrix CanaryReader::keys(std::int64_t sequence, std::int64_t count,
                                     std::int64_t kv_head) const {
  return read({inputs_.kv.k, inputs_.kv.k}, sequence, count, kv_head);
}

reference::Matrix CanaryReader::values(std::int64_t sequence, std::int64_t count,
                                       std::int64_t kv_head) const {
  StridedView tensor{inputs_.kv.v, inputs_.kv.v};
  if (fault_ == Fault::kKeyStridesForValues) {
    const KvTensorView& k = inputs_.kv.k;
    tensor.strides.block_stride = k.block_stride;
    tensor.strides.head_stride = k.head_stride;
    tensor.strides.slot_stride = k.slot_stride;
    tensor.strides.pack_stride = k.pack_stride;
  }
  return read(tensor, sequence, count, kv_head);
}

reference::Matrix CanaryReader::read(const StridedView& tensor, std::int64_t sequence,
                                     std::int64_t count, std::int64_t kv_head) const {
  const auto& [view, strides] = tensor;
  const std::int64_t pool_elements = view.num_blocks * view.block_stride;
  const double scale = scale_of(view.scale, kv_head);
  reference::Matrix values(count, view.head_dim);
  for (std::int64_t token = 0; token < count; ++token) {
    const std::int64_t block =
        brought_into(block_of(sequence, token / view.block_size), view.num_blocks);
    const std::int64_t begin = block * strides.block_stride + kv_head * strides.head_stride +
                               slot_of(token, view.block_size) * strides.slot_stride;
    for (std::int64_t dim = 0; dim < view.head_dim; ++dim) {
      const std::int64_t offset = brought_into(begin + offset_of_dim(strides, dim), pool_elements);
      values(token, dim) = scale * element_at(view.data, offset, view.type);
    }
  }
  return values;
}

std::int64_t CanaryReader::block_of(std::int64_t sequence, std::int64_t logical) const {
  const BlockTableView& table = inputs_.block_table;
  if (fault_ == Fault::kConsecutiveBlocks) return table.data[sequence * table.row_stride] + logical;
  const std::int64_t stride =
      fault_ == Fault::kTableWithoutStride ? table.max_blocks : table.row_stride;
  return table.data[sequence * stride + logical];
}

std::int64_t CanaryReader::slot_of(std::int64_t token, std::int64_t block_size) const {
  return fault_ == Fault::kSlotByMask ? token & (block_size - 1) : token % block_size;
}

std::int64_t CanaryReader::offset_of_dim(const KvTensorView& strides, std::int64_t dim) const {
  if (strides.layout != KvLayout::kPacked) return dim;
  const bool is_wrong = fault_ == Fault::kWrongPackWidth && strides.pack_width > 1;
  const std::int64_t width = is_wrong ? kUsualPackWidth : strides.pack_width;
  return dim / width * strides.pack_stride + dim % width;
}

double CanaryReader::scale_of(const KvScale& scale, std::int64_t kv_head) const {
  if (scale.kind == ScaleKind::kNone || fault_ == Fault::kScaleLeftOut) return 1.0;
  const bool is_first = scale.kind == ScaleKind::kPerTensor || fault_ == Fault::kScaleOfFirstHead;
  return scale.data[is_first ? 0 : kv_head];
}

}  // namespace recto::verify

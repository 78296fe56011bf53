#include "reference/testing/kv_pool.h"

#include <cstring>

#include "core/contract.h"
#include "core/random_stream.h"

namespace recto::reference {
namespace {

// Elements before and after a tensor; also keeps its data aligned to 4 bytes.
constexpr std::int64_t kMargin = 16;

std::vector<std::byte> random_bytes(std::int64_t count, std::uint64_t seed) {
  RandomStream stream(seed);
  std::vector<std::byte> bytes(static_cast<std::size_t>(count));
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(stream.next_u64() >> 56);
  return bytes;
}

std::size_t bytes_of(ElementType type) { return static_cast<std::size_t>(element_bytes(type)); }

}  // namespace

KvPool::KvPool(const TestPoolShape& shape, std::uint64_t seed) : shape_(shape) {
  count_places();
  const std::int64_t elements = places_.empty() ? 0 : view().block_stride * shape.num_blocks;
  bytes_ = random_bytes((elements + 2 * kMargin) * element_bytes(shape.type), seed);
}

std::array<std::int64_t, KvPool::kLevels> KvPool::extents() const {
  switch (shape_.layout) {
    case KvLayout::kTokenMajor:
      return {shape_.num_blocks, 1, shape_.block_size, shape_.num_kv_heads, shape_.head_dim};
    case KvLayout::kHeadMajor:
      return {shape_.num_blocks, 1, shape_.num_kv_heads, shape_.block_size, shape_.head_dim};
    case KvLayout::kPacked:
      RECTO_CHECK_EQ(shape_.head_dim % shape_.pack_width, 0);
      return {shape_.num_blocks, shape_.num_kv_heads, shape_.head_dim / shape_.pack_width,
              shape_.block_size, shape_.pack_width};
  }
  RECTO_UNREACHABLE("all layouts are listed");
}

std::size_t KvPool::logical_index(const std::array<std::int64_t, kLevels>& at) const {
  std::int64_t head = at[3];
  std::int64_t slot = at[2];
  std::int64_t dim = at[4];
  if (shape_.layout == KvLayout::kHeadMajor) {
    head = at[2];
    slot = at[3];
  } else if (shape_.layout == KvLayout::kPacked) {
    head = at[1];
    slot = at[3];
    dim = at[2] * shape_.pack_width + at[4];
  }
  return static_cast<std::size_t>(
      ((at[0] * shape_.num_kv_heads + head) * shape_.block_size + slot) * shape_.head_dim + dim);
}

void KvPool::count_places() {
  const auto extent = extents();
  std::int64_t total = 1;
  for (const std::int64_t size : extent) total *= size;
  places_.resize(static_cast<std::size_t>(total));
  std::array<std::int64_t, kLevels> at{};
  std::int64_t place = 0;
  for (std::int64_t n = 0; n < total; ++n) {
    places_[logical_index(at)] = place++;
    // Counts like an odometer; when a level wraps around, a gap follows.
    for (std::size_t level = kLevels; level-- > 0;) {
      if (++at[level] < extent[level]) break;
      at[level] = 0;
      place += shape_.padding;
    }
  }
}

MutableKvTensorView KvPool::view() {
  const auto extent = extents();
  std::array<std::int64_t, kLevels> stride{};
  stride[kLevels - 1] = 1;
  for (std::size_t level = kLevels - 1; level-- > 0;) {
    stride[level] = extent[level + 1] * stride[level + 1] + shape_.padding;
  }
  const bool packed = shape_.layout == KvLayout::kPacked;
  const bool head_major = shape_.layout == KvLayout::kHeadMajor;
  return {.data = bytes_.empty() ? nullptr : element(0),
          .type = shape_.type,
          .layout = shape_.layout,
          .num_blocks = shape_.num_blocks,
          .block_size = shape_.block_size,
          .num_kv_heads = shape_.num_kv_heads,
          .head_dim = shape_.head_dim,
          .block_stride = stride[0],
          .head_stride = packed ? stride[1] : (head_major ? stride[2] : stride[3]),
          .slot_stride = packed || head_major ? stride[3] : stride[2],
          .pack_width = packed ? shape_.pack_width : 0,
          .pack_stride = packed ? stride[2] : 0,
          .scale = {}};
}

std::int64_t KvPool::place(std::int64_t block, std::int64_t head, std::int64_t slot,
                           std::int64_t dim) const {
  const std::int64_t index =
      ((block * shape_.num_kv_heads + head) * shape_.block_size + slot) * shape_.head_dim + dim;
  return places_.at(static_cast<std::size_t>(index));
}

std::byte* KvPool::element(std::int64_t place) {
  return bytes_.data() + static_cast<std::size_t>(kMargin + place) * bytes_of(shape_.type);
}

std::uint32_t KvPool::code(std::int64_t place) const {
  std::uint32_t code = 0;
  const std::size_t width = bytes_of(shape_.type);
  std::memcpy(&code, bytes_.data() + static_cast<std::size_t>(kMargin + place) * width, width);
  return code;
}

void KvPool::set_code(std::int64_t place, std::uint32_t code) {
  std::memcpy(element(place), &code, bytes_of(shape_.type));
}

RowPool::RowPool(const RowPoolShape& shape, std::uint64_t seed) : shape_(shape) {
  const std::int64_t elements = view().row_stride * shape.num_rows;
  bytes_ = random_bytes((elements + 2 * kMargin) * element_bytes(shape.type), seed);
}

MutableRowsView RowPool::view() {
  const std::int64_t head_stride = shape_.head_dim + shape_.padding;
  return {.data = bytes_.empty() ? nullptr : bytes_.data() + byte_of(0, 0, 0),
          .type = shape_.type,
          .num_rows = shape_.num_rows,
          .num_heads = shape_.num_heads,
          .head_dim = shape_.head_dim,
          .row_stride = shape_.num_heads * head_stride + shape_.padding,
          .head_stride = head_stride};
}

RowsView RowPool::const_view() {
  const MutableRowsView rows = view();
  return {.data = rows.data,
          .type = rows.type,
          .num_rows = rows.num_rows,
          .num_heads = rows.num_heads,
          .head_dim = rows.head_dim,
          .row_stride = rows.row_stride,
          .head_stride = rows.head_stride};
}

std::size_t RowPool::byte_of(std::int64_t row, std::int64_t head, std::int64_t dim) const {
  const std::int64_t head_length = shape_.head_dim + shape_.padding;
  const std::int64_t row_length = shape_.num_heads * head_length + shape_.padding;
  return static_cast<std::size_t>(kMargin + row * row_length + head * head_length + dim) *
         bytes_of(shape_.type);
}

std::uint32_t RowPool::code(std::int64_t row, std::int64_t head, std::int64_t dim) const {
  std::uint32_t code = 0;
  std::memcpy(&code, bytes_.data() + byte_of(row, head, dim), bytes_of(shape_.type));
  return code;
}

void RowPool::set_code(std::int64_t row, std::int64_t head, std::int64_t dim, std::uint32_t code) {
  std::memcpy(bytes_.data() + byte_of(row, head, dim), &code, bytes_of(shape_.type));
}

}  // namespace recto::reference

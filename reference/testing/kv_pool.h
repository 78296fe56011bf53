#pragma once

// One tensor of a paged cache with its memory, for tests. Finds an element by walking through
// memory in storage order and counting, so that no formula over strides is trusted.

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/attention_views.h"

namespace recto::reference {

struct TestPoolShape {
  KvLayout layout = KvLayout::kTokenMajor;
  ElementType type = ElementType::kFp32;
  std::int64_t num_blocks = 1;
  std::int64_t block_size = 1;
  std::int64_t num_kv_heads = 1;
  std::int64_t head_dim = 1;
  std::int64_t pack_width = 1;  // packed layout only; divides head_dim
  std::int64_t padding = 0;     // elements skipped after each run, row, ... and block
};

class KvPool {
 public:
  // Random bytes everywhere, also in the gaps and in a margin before and after the tensor.
  KvPool(const TestPoolShape& shape, std::uint64_t seed);

  const TestPoolShape& shape() const { return shape_; }
  MutableKvTensorView view();
  KvTensorView const_view() { return as_const(view()); }

  // The index of an element in the tensor's memory, gaps included.
  std::int64_t place(std::int64_t block, std::int64_t head, std::int64_t slot,
                     std::int64_t dim) const;

  // Reads and writes the code at a place.
  std::uint32_t code(std::int64_t place) const;
  void set_code(std::int64_t place, std::uint32_t code);

  // All memory: margins, elements and gaps.
  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  // Storage order: five nested loops, the block outermost. Plain layouts use four of them.
  static constexpr std::size_t kLevels = 5;
  std::array<std::int64_t, kLevels> extents() const;
  std::size_t logical_index(const std::array<std::int64_t, kLevels>& at) const;
  void count_places();
  std::byte* element(std::int64_t place);

  TestPoolShape shape_;
  std::vector<std::int64_t> places_;  // [num_blocks, num_kv_heads, block_size, head_dim]
  std::vector<std::byte> bytes_;
};

// Rows [num_rows, num_heads, head_dim] with their memory, random, with gaps of `padding` elements
// after each head and each row.
struct RowPoolShape {
  ElementType type = ElementType::kFp32;
  std::int64_t num_rows = 1;
  std::int64_t num_heads = 1;
  std::int64_t head_dim = 1;
  std::int64_t padding = 0;
};

class RowPool {
 public:
  RowPool(const RowPoolShape& shape, std::uint64_t seed);

  const RowPoolShape& shape() const { return shape_; }
  MutableRowsView view();
  RowsView const_view();
  std::uint32_t code(std::int64_t row, std::int64_t head, std::int64_t dim) const;
  void set_code(std::int64_t row, std::int64_t head, std::int64_t dim, std::uint32_t code);
  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  std::size_t byte_of(std::int64_t row, std::int64_t head, std::int64_t dim) const;

  RowPoolShape shape_;
  std::vector<std::byte> bytes_;
};

}  // namespace recto::reference

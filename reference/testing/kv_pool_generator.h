#pragma once

// Random shapes of pools, for properties. To be called within one.

#include <cstdint>
#include <utility>
#include <vector>

#include "bazel/testing/property.h"
#include "core/random_stream.h"
#include "reference/testing/kv_pool.h"

namespace recto::reference {

// Uniform over [first, last], at any size of rapidcheck's.
inline std::int64_t draw(std::int64_t first, std::int64_t last) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::int64_t>(first, last + 1));
}

inline std::uint64_t draw_seed() { return *rc::gen::arbitrary<std::uint64_t>(); }

// Small, in any layout; a pack of any width.
inline TestPoolShape draw_shape(ElementType type) {
  const std::int64_t pack_width = draw(1, 4);
  return {
      .layout = *rc::gen::element(KvLayout::kTokenMajor, KvLayout::kHeadMajor, KvLayout::kPacked),
      .type = type,
      .num_blocks = draw(2, 6),
      .block_size = draw(1, 5),
      .num_kv_heads = draw(1, 3),
      .head_dim = pack_width * draw(1, 4),
      .pack_width = pack_width,
      .padding = draw(0, 3)};
}

// V's: its own layout, gaps and head dim.
inline TestPoolShape draw_partner(const TestPoolShape& shape) {
  TestPoolShape partner = draw_shape(shape.type);
  partner.num_blocks = shape.num_blocks;
  partner.block_size = shape.block_size;
  partner.num_kv_heads = shape.num_kv_heads;
  return partner;
}

// The same tensor elsewhere: other layout, gaps and number of blocks.
inline TestPoolShape draw_copy(const TestPoolShape& shape) {
  TestPoolShape copy = shape;
  copy.layout = *rc::gen::element(KvLayout::kTokenMajor, KvLayout::kHeadMajor, KvLayout::kPacked);
  copy.pack_width = *rc::gen::element(std::int64_t{1}, shape.pack_width, shape.head_dim);
  copy.padding = draw(0, 3);
  copy.num_blocks = draw(2, 6);
  return copy;
}

// Rows that go into such a tensor, or come out of it.
inline RowPoolShape rows_like(const TestPoolShape& shape, std::int64_t num_rows, ElementType type) {
  return {.type = type,
          .num_rows = num_rows,
          .num_heads = shape.num_kv_heads,
          .head_dim = shape.head_dim,
          .padding = draw(0, 2)};
}

// Distinct numbers in [0, below), in random order.
inline std::vector<std::int64_t> draw_distinct(std::int64_t count, std::int64_t below) {
  std::vector<std::int64_t> all;
  for (std::int64_t i = 0; i < below; ++i) all.push_back(i);
  RandomStream stream(draw_seed());
  for (std::int64_t i = 0; i < count; ++i) {
    const auto other =
        i + static_cast<std::int64_t>(stream.next_below(static_cast<std::uint64_t>(below - i)));
    std::swap(all[static_cast<std::size_t>(i)], all[static_cast<std::size_t>(other)]);
  }
  all.resize(static_cast<std::size_t>(count));
  return all;
}

}  // namespace recto::reference

#pragma once

// Random shapes of pools, for properties. To be called within one.

#include <cstdint>
#include <ostream>
#include <string>
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

inline std::uint64_t draw_seed() { return *rc::gen::arbitrary<std::uint64_t>().as("seed"); }

// What `make` returns: one entry of a counterexample, by its name, in place of all numbers that it
// is made of. It is called again to shrink, once the property has returned, so that it must own
// what it captures.
template <typename Make>
auto drawn(const std::string& name, Make make) {
  return *rc::gen::exec(std::move(make)).as(name);
}

// Found by rapidcheck where it prints counterexamples.
inline void showValue(const TestPoolShape& shape, std::ostream& out) {
  out << shape.layout << " " << shape.type << ", " << shape.num_blocks << " blocks of "
      << shape.block_size << " slots, " << shape.num_kv_heads << " KV heads of " << shape.head_dim
      << " dims, packs of " << shape.pack_width << ", gaps of " << shape.padding;
}

inline void showValue(const RowPoolShape& shape, std::ostream& out) {
  out << shape.type << ", " << shape.num_rows << " rows of " << shape.num_heads << " heads of "
      << shape.head_dim << " dims, gaps of " << shape.padding;
}

inline KvLayout draw_layout() {
  return *rc::gen::element(KvLayout::kTokenMajor, KvLayout::kHeadMajor, KvLayout::kPacked);
}

inline TestPoolShape any_shape(ElementType type) {
  const std::int64_t pack_width = draw(1, 4);
  return {.layout = draw_layout(),
          .type = type,
          .num_blocks = draw(2, 6),
          .block_size = draw(1, 5),
          .num_kv_heads = draw(1, 3),
          .head_dim = pack_width * draw(1, 4),
          .pack_width = pack_width,
          .padding = draw(0, 3)};
}

// Small, in any layout; a pack of any width.
inline TestPoolShape draw_shape(ElementType type) {
  return drawn("pool", [type] { return any_shape(type); });
}

// V's: its own layout, gaps and head dim.
inline TestPoolShape draw_partner(const TestPoolShape& shape) {
  return drawn("pool of V", [shape] {
    TestPoolShape partner = any_shape(shape.type);
    partner.num_blocks = shape.num_blocks;
    partner.block_size = shape.block_size;
    partner.num_kv_heads = shape.num_kv_heads;
    return partner;
  });
}

// The same tensor elsewhere: other layout, gaps and number of blocks.
inline TestPoolShape draw_copy(const TestPoolShape& shape) {
  return drawn("the same elsewhere", [shape] {
    TestPoolShape copy = shape;
    copy.layout = draw_layout();
    copy.pack_width = *rc::gen::element(std::int64_t{1}, shape.pack_width, shape.head_dim);
    copy.padding = draw(0, 3);
    copy.num_blocks = draw(2, 6);
    return copy;
  });
}

// Rows that go into such a tensor, or come out of it.
inline RowPoolShape rows_like(const TestPoolShape& shape, std::int64_t num_rows, ElementType type) {
  return drawn("rows", [=] {
    return RowPoolShape{.type = type,
                        .num_rows = num_rows,
                        .num_heads = shape.num_kv_heads,
                        .head_dim = shape.head_dim,
                        .padding = draw(0, 2)};
  });
}

// Distinct numbers in [0, below), in random order.
inline std::vector<std::int64_t> draw_distinct(std::int64_t count, std::int64_t below) {
  return drawn("distinct numbers", [count, below] {
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
  });
}

}  // namespace recto::reference

#include "reference/testing/kv_pool_generator.h"

#include <utility>

#include "core/random_stream.h"

namespace recto::reference {
namespace {

KvLayout draw_layout(Draw& draw) {
  return draw.element({KvLayout::kTokenMajor, KvLayout::kHeadMajor, KvLayout::kPacked});
}

TestPoolShape draw_any(Draw& draw, ElementType type) {
  const std::int64_t pack_width = draw.uniform(1, 4);
  return {.layout = draw_layout(draw),
          .type = type,
          .num_blocks = draw.uniform(2, 6),
          .block_size = draw.uniform(1, 5),
          .num_kv_heads = draw.uniform(1, 3),
          .head_dim = pack_width * draw.uniform(1, 4),
          .pack_width = pack_width,
          .padding = draw.uniform(0, 3)};
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const TestPoolShape& shape) {
  return out << shape.layout << " " << shape.type << ", " << shape.num_blocks << " blocks of "
             << shape.block_size << " slots, " << shape.num_kv_heads << " KV heads of "
             << shape.head_dim << " dims, packs of " << shape.pack_width << ", gaps of "
             << shape.padding;
}

std::ostream& operator<<(std::ostream& out, const RowPoolShape& shape) {
  return out << shape.type << ", " << shape.num_rows << " rows of " << shape.num_heads
             << " heads of " << shape.head_dim << " dims, gaps of " << shape.padding;
}

TestPoolShape draw_shape(Draw& draw, ElementType type) {
  return draw.composite("pool", [type](Draw& parts) { return draw_any(parts, type); });
}

TestPoolShape draw_partner(Draw& draw, const TestPoolShape& shape) {
  return draw.composite("pool of V", [shape](Draw& parts) {
    TestPoolShape partner = draw_any(parts, shape.type);
    partner.num_blocks = shape.num_blocks;
    partner.block_size = shape.block_size;
    partner.num_kv_heads = shape.num_kv_heads;
    return partner;
  });
}

TestPoolShape draw_copy(Draw& draw, const TestPoolShape& shape) {
  return draw.composite("the same elsewhere", [shape](Draw& parts) {
    TestPoolShape copy = shape;
    copy.layout = draw_layout(parts);
    copy.pack_width = parts.element({std::int64_t{1}, shape.pack_width, shape.head_dim});
    copy.padding = parts.uniform(0, 3);
    copy.num_blocks = parts.uniform(2, 6);
    return copy;
  });
}

RowPoolShape draw_rows_like(Draw& draw, const TestPoolShape& shape, std::int64_t num_rows,
                            ElementType type) {
  return draw.composite("rows", [=](Draw& parts) {
    return RowPoolShape{.type = type,
                        .num_rows = num_rows,
                        .num_heads = shape.num_kv_heads,
                        .head_dim = shape.head_dim,
                        .padding = parts.uniform(0, 2)};
  });
}

std::vector<std::int64_t> draw_distinct(Draw& draw, std::int64_t count, std::int64_t below) {
  return draw.composite("distinct numbers", [count, below](Draw& parts) {
    std::vector<std::int64_t> all;
    for (std::int64_t i = 0; i < below; ++i) all.push_back(i);
    RandomStream stream(parts.seed());
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

#include "verify/kernels/drawn_pools.h"

#include <cmath>

#include "core/units.h"
#include "reference/rounding.h"

namespace recto::verify {
namespace {

// At least half of all dims and gaps are multiples of four, so that kernels load vectors, and some
// gaps are multiples of 16. A warp handles 128 dims per round.
std::int64_t draw_head_dim(Draw& draw) {
  return draw.uniform(0, 1) == 0 ? 4 * draw.uniform(1, 40) : draw.uniform(1, 140);
}
std::int64_t draw_gap(Draw& draw) {
  const std::int64_t gaps[] = {0, 4 * draw.uniform(0, 2), 16 * draw.uniform(0, 2),
                               draw.uniform(0, 5)};
  return draw.element(gaps);
}

// Draws the layout, with packs of 1 to 16 dims, the head dim, and gaps.
void draw_rows(Draw& draw, TestPoolShape& shape) {
  shape.layout = draw.element({KvLayout::kTokenMajor, KvLayout::kHeadMajor, KvLayout::kPacked});
  shape.pack_width = std::int64_t{1} << draw.uniform(0, 4);
  shape.head_dim = draw_head_dim(draw);
  if (shape.layout == KvLayout::kPacked) {
    shape.head_dim = ceil_div(shape.head_dim, shape.pack_width) * shape.pack_width;
  }
  shape.padding = draw_gap(draw);
}

bool is_nan(const KvPool& pool, std::int64_t place) {
  return std::isnan(reference::decode(pool.code(place), pool.shape().type));
}

}  // namespace

KernelRun draw_run(Draw& draw) {
  return {.executor = {
              .schedule = {.policy = draw.element(simt::kSchedulePolicies), .seed = draw.seed()}}};
}

TestPoolShape draw_pool(Draw& draw, ElementType type) {
  return draw.composite("pool", [type](Draw& parts) {
    TestPoolShape shape = {.type = type,
                           .num_blocks = parts.uniform(2, 6),
                           .block_size = parts.uniform(1, 20),
                           .num_kv_heads = parts.uniform(1, 5)};
    draw_rows(parts, shape);
    return shape;
  });
}

TestPoolShape draw_values(Draw& draw, const TestPoolShape& keys) {
  return draw.composite("pool of V", [keys](Draw& parts) {
    TestPoolShape values = keys;
    draw_rows(parts, values);
    return values;
  });
}

TestPoolShape draw_other_pool(Draw& draw, const TestPoolShape& shape) {
  return draw.composite("the same elsewhere", [shape](Draw& parts) {
    TestPoolShape other = shape;
    if (parts.uniform(0, 1) == 0) return other;
    draw_rows(parts, other);
    other.num_blocks = parts.uniform(2, 6);
    other.head_dim = shape.head_dim;
    while (other.head_dim % other.pack_width != 0) other.pack_width /= 2;
    return other;
  });
}

RowPoolShape draw_rows_for(Draw& draw, const TestPoolShape& shape, std::int64_t num_rows,
                           ElementType type) {
  return draw.composite("rows", [=](Draw& parts) {
    return RowPoolShape{.type = type,
                        .num_rows = num_rows,
                        .num_heads = shape.num_kv_heads,
                        .head_dim = shape.head_dim,
                        .padding = draw_gap(parts)};
  });
}

ElementType draw_type(Draw& draw) { return draw.element(kElementTypes); }

WriteTypes draw_write_types(Draw& draw) {
  using enum ElementType;
  static constexpr WriteTypes kPairs[] = {{kFp32, kFp32}, {kFp16, kFp16}, {kBf16, kBf16},
                                          {kFp32, kFp16}, {kFp32, kBf16}, {kFp32, kE4m3},
                                          {kFp16, kE4m3}, {kBf16, kE4m3}, {kFp32, kE5m2},
                                          {kFp16, kE5m2}, {kBf16, kE5m2}};
  return draw.element(kPairs);
}

Scales draw_scales(Draw& draw, const TestPoolShape& shape, std::int64_t least_exponent) {
  Scales scales;
  if (!is_fp8(shape.type)) return scales;
  scales.kind = draw.element({ScaleKind::kNone, ScaleKind::kPerTensor, ScaleKind::kPerKvHead});
  const std::int64_t counts[] = {0, 1, shape.num_kv_heads};
  for (std::int64_t i = 0; i < counts[static_cast<int>(scales.kind)]; ++i) {
    const float fraction = 1.0F + static_cast<float>(draw.uniform(0, (1 << 23) - 1)) * 0x1p-23F;
    scales.values.push_back(std::ldexp(fraction, draw.uniform<int>(least_exponent, 4)));
  }
  return scales;
}

MutableKvTensorView scaled(KvPool& pool, const Scales& scales) {
  MutableKvTensorView view = pool.view();
  view.scale = {.kind = scales.kind,
                .data = scales.values.empty() ? nullptr : scales.values.data()};
  return view;
}

void forget_nans(const KvPool& expected, KvPool& seen) {
  const TestPoolShape& shape = seen.shape();
  for (std::int64_t block = 0; block < shape.num_blocks; ++block) {
    for (std::int64_t head = 0; head < shape.num_kv_heads; ++head) {
      for (std::int64_t slot = 0; slot < shape.block_size; ++slot) {
        for (std::int64_t dim = 0; dim < shape.head_dim; ++dim) {
          const std::int64_t place = seen.place(block, head, slot, dim);
          if (is_nan(seen, place) && is_nan(expected, place)) {
            seen.set_code(place, expected.code(place));
          }
        }
      }
    }
  }
}

}  // namespace recto::verify

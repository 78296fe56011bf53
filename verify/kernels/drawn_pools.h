#pragma once

// Random pools, rows and scales for the kernels that move K and V. To be called within a property.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <vector>

#include "bazel/testing/property.h"
#include "core/element_type.h"
#include "core/units.h"
#include "reference/rounding.h"
#include "reference/testing/kv_pool.h"
#include "reference/testing/kv_pool_generator.h"
#include "verify/kernels/device_call.h"

namespace recto::verify {

using reference::draw;
using reference::draw_distinct;
using reference::draw_seed;
using reference::drawn;
using reference::KvPool;
using reference::RowPool;
using reference::RowPoolShape;
using reference::TestPoolShape;

inline KernelRun draw_run() {
  return {.executor = {
              .schedule = {.policy = simt::kSchedulePolicies[draw(0, 3)], .seed = draw_seed()}}};
}

// At least half of all dims, and of all gaps, are multiples of four, so that vectors are loaded,
// and some gaps are multiples of 16; a warp takes 128 dims in one round.
inline std::int64_t draw_head_dim() { return draw(0, 1) == 0 ? 4 * draw(1, 40) : draw(1, 140); }
inline std::int64_t draw_gap() {
  const std::int64_t gaps[] = {0, 4 * draw(0, 2), 16 * draw(0, 2), draw(0, 5)};
  return gaps[draw(0, 3)];
}

// Draws the layout, with packs of 1 to 16 dims, the head dim, and gaps.
inline void draw_rows(TestPoolShape& shape) {
  shape.layout = *rc::gen::element(KvLayout::kTokenMajor, KvLayout::kHeadMajor, KvLayout::kPacked);
  shape.pack_width = std::int64_t{1} << draw(0, 4);
  shape.head_dim = draw_head_dim();
  if (shape.layout == KvLayout::kPacked) {
    shape.head_dim = ceil_div(shape.head_dim, shape.pack_width) * shape.pack_width;
  }
  shape.padding = draw_gap();
}

inline TestPoolShape draw_pool(ElementType type) {
  return drawn("pool", [type] {
    TestPoolShape shape = {.type = type,
                           .num_blocks = draw(2, 6),
                           .block_size = draw(1, 20),
                           .num_kv_heads = draw(1, 5)};
    draw_rows(shape);
    return shape;
  });
}

inline TestPoolShape draw_values(const TestPoolShape& keys) {
  return drawn("pool of V", [keys] {
    TestPoolShape values = keys;
    draw_rows(values);
    return values;
  });
}

// A pool of the same blocks elsewhere: their number and layout are drawn anew every other time.
inline TestPoolShape draw_other_pool(const TestPoolShape& shape) {
  return drawn("the same elsewhere", [shape] {
    TestPoolShape other = shape;
    if (draw(0, 1) == 0) return other;
    draw_rows(other);
    other.num_blocks = draw(2, 6);
    other.head_dim = shape.head_dim;
    while (other.head_dim % other.pack_width != 0) other.pack_width /= 2;
    return other;
  });
}

inline RowPoolShape rows_for(const TestPoolShape& shape, std::int64_t num_rows, ElementType type) {
  return drawn("rows", [=] {
    return RowPoolShape{.type = type,
                        .num_rows = num_rows,
                        .num_heads = shape.num_kv_heads,
                        .head_dim = shape.head_dim,
                        .padding = draw_gap()};
  });
}

inline ElementType draw_type() { return kElementTypes[draw(0, std::ssize(kElementTypes) - 1)]; }

// The types of new rows and of the cache that they are written into.
struct WriteTypes {
  ElementType source;
  ElementType cache;
};

inline WriteTypes draw_write_types() {
  using enum ElementType;
  static constexpr WriteTypes kPairs[] = {{kFp32, kFp32}, {kFp16, kFp16}, {kBf16, kBf16},
                                          {kFp32, kFp16}, {kFp32, kBf16}, {kFp32, kE4m3},
                                          {kFp16, kE4m3}, {kBf16, kE4m3}, {kFp32, kE5m2},
                                          {kFp16, kE5m2}, {kBf16, kE5m2}};
  return kPairs[draw(0, std::ssize(kPairs) - 1)];
}

struct Scales {
  ScaleKind kind = ScaleKind::kNone;
  std::vector<float> values;  // none, [1] or [num_kv_heads]

  float of(std::int64_t head) const {
    if (kind == ScaleKind::kNone) return 1.0F;
    return values[kind == ScaleKind::kPerTensor ? 0 : static_cast<std::size_t>(head)];
  }
};

// Scales of at least 2^least_exponent, with all mantissa bits; only fp8 is scaled.
inline Scales draw_scales(const TestPoolShape& shape, std::int64_t least_exponent) {
  Scales scales;
  if (!is_fp8(shape.type)) return scales;
  scales.kind = *rc::gen::element(ScaleKind::kNone, ScaleKind::kPerTensor, ScaleKind::kPerKvHead);
  const std::int64_t counts[] = {0, 1, shape.num_kv_heads};
  for (std::int64_t i = 0; i < counts[static_cast<int>(scales.kind)]; ++i) {
    const float fraction = 1.0F + static_cast<float>(draw(0, (1 << 23) - 1)) * 0x1p-23F;
    scales.values.push_back(std::ldexp(fraction, static_cast<int>(draw(least_exponent, 4))));
  }
  return scales;
}

inline MutableKvTensorView scaled(KvPool& pool, const Scales& scales) {
  MutableKvTensorView view = pool.view();
  view.scale = {.kind = scales.kind,
                .data = scales.values.empty() ? nullptr : scales.values.data()};
  return view;
}

inline bool is_nan(const KvPool& pool, std::int64_t place) {
  return std::isnan(reference::decode(pool.code(place), pool.shape().type));
}

// Copies the NaN of `expected` to `seen` wherever both are NaN: which NaN a rounded NaN becomes is
// unspecified.
inline void forget_nans(const KvPool& expected, KvPool& seen) {
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

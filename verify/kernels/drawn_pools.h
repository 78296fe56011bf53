#pragma once

// Random pools, rows and scales for the kernels that move K and V.

#include <cstdint>
#include <vector>

#include "bazel/testing/property.h"
#include "core/element_type.h"
#include "reference/testing/kv_pool.h"
#include "reference/testing/kv_pool_generator.h"
#include "verify/kernels/device_call.h"

namespace recto::verify {

using reference::draw_distinct;
using reference::KvPool;
using reference::RowPool;
using reference::RowPoolShape;
using reference::TestPoolShape;

KernelRun draw_run(Draw& draw);

TestPoolShape draw_pool(Draw& draw, ElementType type);

TestPoolShape draw_values(Draw& draw, const TestPoolShape& keys);

// Another pool of the same blocks: their number and layout are redrawn with probability 1/2.
TestPoolShape draw_other_pool(Draw& draw, const TestPoolShape& shape);

RowPoolShape draw_rows_for(Draw& draw, const TestPoolShape& shape, std::int64_t num_rows,
                           ElementType type);

ElementType draw_type(Draw& draw);

// The types of new rows and of the cache into which they are written.
struct WriteTypes {
  ElementType source;
  ElementType cache;
};

WriteTypes draw_write_types(Draw& draw);

struct Scales {
  ScaleKind kind = ScaleKind::kNone;
  std::vector<float> values;  // none, [1] or [num_kv_heads]

  float of(std::int64_t head) const {
    if (kind == ScaleKind::kNone) return 1.0F;
    return values[kind == ScaleKind::kPerTensor ? 0 : static_cast<std::size_t>(head)];
  }
};

// Scales of at least 2^least_exponent, using all mantissa bits; only fp8 is scaled.
Scales draw_scales(Draw& draw, const TestPoolShape& shape, std::int64_t least_exponent);

MutableKvTensorView scaled(KvPool& pool, const Scales& scales);

// Copies the NaN of `expected` to `seen` where both are NaN: which NaN rounding gives is
// unspecified.
void forget_nans(const KvPool& expected, KvPool& seen);

}  // namespace recto::verify

// Append on the executor. Without rotary embedding it equals the reference's write to the slots
// that block tables and lengths give, bit for bit; with it, K and q are within the reference's
// bound, and all else is bit-identical.

#include <cmath>
#include <cstdint>
#include <vector>

#include "bazel/testing/property.h"
#include "reference/kv_cache_ops.h"
#include "reference/rotary.h"
#include "reference/rounding.h"
#include "reference/testing/kv_pool.h"
#include "verify/kernels/drawn_pools.h"
#include "verify/kernels/kernel_cache_ops.h"

namespace recto::verify {
namespace {

using reference::Matrix;
using reference::RotaryOptions;

// The slot of each sequence's new token.
struct Places {
  std::int64_t max_blocks = 0;
  std::vector<std::int32_t> table;          // [num_seqs, max_blocks + 1]
  std::vector<std::int32_t> cached_length;  // [num_seqs]
  std::vector<std::int64_t> slots;          // [num_seqs], -1: none

  std::int64_t num_seqs() const { return std::ssize(cached_length); }
  // Removes the slots of tokens for which rotary tables have no position.
  void forget_beyond(std::int64_t positions) {
    for (std::size_t seq = 0; seq < slots.size(); ++seq) {
      if (cached_length[seq] >= positions) slots[seq] = -1;
    }
  }
  std::int32_t context_length(std::int64_t seq) const {
    const auto s = static_cast<std::size_t>(seq);
    return std::max(cached_length[s], 0) + (slots[s] >= 0 ? 1 : 0);
  }
};

// Each sequence has its own block at the relevant place of its table; also padding, lengths beyond
// the table, and tables without a block there.
Places draw_places(Draw& draw, const TestPoolShape& shape) {
  Places places;
  places.max_blocks = draw.uniform(1, 4);
  for (const std::int64_t block :
       draw_distinct(draw, draw.uniform(1, shape.num_blocks), shape.num_blocks)) {
    const std::int64_t length = draw.uniform(-1, places.max_blocks * shape.block_size + 1);
    const std::int64_t index = length < 0 ? -1 : length / shape.block_size;
    const bool is_there = index >= 0 && index < places.max_blocks && draw.uniform(0, 7) != 0;
    for (std::int64_t i = 0; i <= places.max_blocks; ++i) {
      const std::int64_t id = i != index ? 1 << 30 : is_there ? block : -1;
      places.table.push_back(static_cast<std::int32_t>(id));
    }
    places.cached_length.push_back(static_cast<std::int32_t>(length));
    places.slots.push_back(is_there ? block * shape.block_size + length % shape.block_size : -1);
  }
  return places;
}

// The parameters of a call, except the cache.
kernels::KvAppendParams params_of(const Places& places, const RowsView& k, const RowsView& v) {
  return {.k = k,
          .v = v,
          .block_table = {.data = places.table.data(),
                          .num_seqs = places.num_seqs(),
                          .max_blocks = places.max_blocks,
                          .row_stride = places.max_blocks + 1},
          .cached_length = places.cached_length.data()};
}

TEST_CASE("the append kernel writes new tokens as the reference does") {
  property("for every pair of types, and tables with holes", [](Draw& draw) {
    const WriteTypes types = draw_write_types(draw);
    const TestPoolShape shape = draw_pool(draw, types.cache);
    KvPool k(shape, draw.seed());
    KvPool v(draw_values(draw, shape), draw.seed());
    const Places places = draw_places(draw, shape);
    RowPool new_k(draw_rows_for(draw, k.shape(), places.num_seqs(), types.source), draw.seed());
    RowPool new_v(draw_rows_for(draw, v.shape(), places.num_seqs(), types.source), draw.seed());
    const Scales scales_k = draw_scales(draw, shape, -6);
    const Scales scales_v = draw_scales(draw, shape, -6);
    KvPool expected_k = k;
    KvPool expected_v = v;
    reference::write_kv({.k = new_k.const_view(),
                         .v = new_v.const_view(),
                         .slot_mapping = places.slots,
                         .kv = {scaled(expected_k, scales_k), scaled(expected_v, scales_v)}});
    auto params = params_of(places, new_k.const_view(), new_v.const_view());
    params.kv = {scaled(k, scales_k), scaled(v, scales_v)};
    std::vector<std::int32_t> context_length(places.cached_length.size(), -7);
    params.context_length = context_length.data();
    append_kv_by_kernel(draw_run(draw), params);
    if (types.source != types.cache) {
      forget_nans(expected_k, k);
      forget_nans(expected_v, v);
    }
    RECTO_REQUIRE(k.bytes() == expected_k.bytes());
    RECTO_REQUIRE(v.bytes() == expected_v.bytes());
    for (std::int64_t seq = 0; seq < places.num_seqs(); ++seq) {
      RECTO_REQUIRE(context_length[static_cast<std::size_t>(seq)] == places.context_length(seq));
    }
  });
}

RowPoolShape draw_table_shape(Draw& draw, const RotaryOptions& options, std::int64_t positions) {
  return {.type = draw.element({ElementType::kFp32, ElementType::kFp16, ElementType::kBf16}),
          .num_rows = positions,
          .head_dim = options.rotary_dim / 2,
          .padding = draw.uniform(0, 3)};
}

// Rotary tables in the shape's type, rounded once.
struct Tables {
  Tables(double base, const RowPoolShape& shape) : cosines(shape, 1), sines(shape, 2) {
    for (std::int64_t position = 0; position < shape.num_rows; ++position) {
      for (std::int64_t pair = 0; pair < shape.head_dim; ++pair) {
        const double exponent = -static_cast<double>(pair) / static_cast<double>(shape.head_dim);
        const double angle = static_cast<double>(position) * std::pow(base, exponent);
        cosines.set_code(position, 0, pair, reference::encode(std::cos(angle), shape.type));
        sines.set_code(position, 0, pair, reference::encode(std::sin(angle), shape.type));
      }
    }
  }

  // Cosines and sines are at most 1.
  double error() const { return reference::unit_roundoff(cosines.shape().type) / 2; }

  RowPool cosines;
  RowPool sines;
};

RotaryOptions draw_rotary(Draw& draw, std::int64_t head_dim) {
  using enum reference::RotaryPairing;
  return {.pairing = draw.element({kHalves, kInterleaved}),
          .rotary_dim = 2 * (draw.boolean() ? draw.uniform(1, head_dim / 2) : head_dim / 2),
          .base = draw.element({100.0, 10000.0, 500000.0})};
}

kernels::Rotary rotary_of(const RotaryOptions& options, Tables& tables) {
  const bool is_halves = options.pairing == reference::RotaryPairing::kHalves;
  return {
      .dim = options.rotary_dim,
      .pairing = is_halves ? kernels::RotaryPairing::kHalves : kernels::RotaryPairing::kInterleaved,
      .cosines = tables.cosines.const_view(),
      .sines = tables.sines.const_view()};
}

// Numbers of up to 1.
void fill_with_units(Draw& draw, RowPool& rows) {
  RandomStream stream(draw.seed());
  const RowPoolShape& shape = rows.shape();
  for (std::int64_t row = 0; row < shape.num_rows; ++row) {
    for (std::int64_t head = 0; head < shape.num_heads; ++head) {
      for (std::int64_t dim = 0; dim < shape.head_dim; ++dim) {
        const double number = 2 * stream.next_unit() - 1;
        rows.set_code(row, head, dim, reference::encode(number, shape.type));
      }
    }
  }
}

Matrix row_values(const RowPool& rows, std::int64_t row, std::int64_t head) {
  Matrix values(1, rows.shape().head_dim);
  for (std::int64_t dim = 0; dim < rows.shape().head_dim; ++dim) {
    values(0, dim) = reference::decode(rows.code(row, head, dim), rows.shape().type);
  }
  return values;
}

struct Turn {
  RotaryOptions options;
  std::int64_t positions = 0;  // of the tables
  double table_error = 0.0;
  Scales scales;  // of the cache

  bool has(std::int64_t position) const { return 0 <= position && position < positions; }
};

// The expected value of a row rotated to `position` and stored in a type.
struct Rotated {
  Rotated(const Matrix& row, std::int64_t position, const Turn& turn, ElementType type,
          double scale)
      : exact(reference::rotate(row, position, turn.options)),
        bound(reference::rotary_bound(row, position, turn.options,
                                      numerics(turn.table_error, type, scale))) {}

  // The quotient by a scale is rounded to fp32 and then to fp8.
  static reference::RotaryNumerics numerics(double table_error, ElementType type, double scale) {
    reference::RotaryNumerics numerics{.table_error = table_error};
    if (type == ElementType::kFp32) return numerics;
    const double quotient = is_fp8(type) ? 0x1p-24 : 0.0;
    numerics.output_roundoff = (1 + reference::unit_roundoff(type)) * (1 + quotient) - 1;
    numerics.output_underflow = scale * (1 + quotient) * reference::underflow_error(type);
    return numerics;
  }

  bool allows(std::int64_t dim, double value) const {
    return std::abs(value - exact(0, dim)) <= bound(0, dim);
  }

  Matrix exact;
  Matrix bound;
};

// Where the kernel's K is within its bound, copies it to `expected`.
void take_rotated_keys(const Places& places, const RowPool& new_k, const Turn& turn,
                       const KvPool& seen, KvPool& expected) {
  const TestPoolShape& shape = seen.shape();
  for (std::int64_t seq = 0; seq < places.num_seqs(); ++seq) {
    const std::int64_t slot = places.slots[static_cast<std::size_t>(seq)];
    if (slot < 0) continue;
    const std::int64_t position = places.cached_length[static_cast<std::size_t>(seq)];
    for (std::int64_t head = 0; head < shape.num_kv_heads; ++head) {
      const double scale = static_cast<double>(turn.scales.of(head));
      const Rotated rotated(row_values(new_k, seq, head), position, turn, shape.type, scale);
      for (std::int64_t dim = 0; dim < turn.options.rotary_dim; ++dim) {
        const std::int64_t place =
            seen.place(slot / shape.block_size, head, slot % shape.block_size, dim);
        RECTO_REQUIRE(rotated.allows(dim, reference::decode(seen.code(place), shape.type) * scale));
        expected.set_code(place, seen.code(place));
      }
    }
  }
}

// The same for q; rows without a position must not change.
void take_rotated_queries(const Places& places, const RowPool& q, const Turn& turn,
                          const RowPool& seen, RowPool& expected) {
  const RowPoolShape& shape = seen.shape();
  for (std::int64_t seq = 0; seq < places.num_seqs(); ++seq) {
    const std::int64_t position = places.cached_length[static_cast<std::size_t>(seq)];
    for (std::int64_t head = 0; head < shape.num_heads; ++head) {
      const Rotated rotated(row_values(q, seq, head), std::max<std::int64_t>(position, 0), turn,
                            shape.type, 1.0);
      for (std::int64_t dim = 0; dim < shape.head_dim; ++dim) {
        const std::uint32_t code = seen.code(seq, head, dim);
        if (!turn.has(position) || dim >= turn.options.rotary_dim) {
          expected.set_code(seq, head, dim, q.code(seq, head, dim));
        } else {
          RECTO_REQUIRE(rotated.allows(dim, reference::decode(code, shape.type)));
          expected.set_code(seq, head, dim, code);
        }
      }
    }
  }
}

TEST_CASE("the append kernel rotates K and q within the bound, and changes nothing else") {
  property("for every pair of types, both pairings, q in place or elsewhere", [](Draw& draw) {
    const WriteTypes types = draw_write_types(draw);
    TestPoolShape shape = draw_pool(draw, types.cache);
    if (shape.head_dim == 1) shape.head_dim = 2 * shape.pack_width;
    KvPool k(shape, draw.seed());
    KvPool v(draw_values(draw, shape), draw.seed());
    Places places = draw_places(draw, shape);
    RowPool new_k(draw_rows_for(draw, k.shape(), places.num_seqs(), types.source), draw.seed());
    RowPool new_v(draw_rows_for(draw, v.shape(), places.num_seqs(), types.source), draw.seed());
    RowPoolShape q_shape = draw_rows_for(draw, k.shape(), places.num_seqs(), types.source);
    q_shape.num_heads *= draw.uniform(1, 3);
    RowPool q(q_shape, draw.seed());
    for (RowPool* rows : {&new_k, &new_v, &q}) fill_with_units(draw, *rows);
    // No quotient is beyond the largest code.
    const Scales scales = draw_scales(draw, shape, -7);
    const RotaryOptions options = draw_rotary(draw, shape.head_dim);
    const std::int64_t positions = draw.uniform(1, (places.max_blocks + 1) * shape.block_size);
    places.forget_beyond(positions);
    Tables tables(options.base, draw_table_shape(draw, options, positions));
    const Turn turn = {options, positions, tables.error(), scales};

    KvPool expected_k = k;
    KvPool expected_v = v;
    reference::write_kv({.k = new_k.const_view(),
                         .v = new_v.const_view(),
                         .slot_mapping = places.slots,
                         .kv = {scaled(expected_k, scales), scaled(expected_v, scales)}});
    auto params = params_of(places, new_k.const_view(), new_v.const_view());
    params.kv = {scaled(k, scales), scaled(v, scales)};
    params.rotary = rotary_of(options, tables);
    const RowPool asked_q = q;
    RowPool elsewhere(q_shape, draw.seed());
    RowPool& rotated_q = draw.uniform(0, 1) == 0 ? q : elsewhere;
    RowPool expected_q = rotated_q;
    params.q = q.const_view();
    params.rotated_q = rotated_q.view();
    append_kv_by_kernel(draw_run(draw), params);

    take_rotated_keys(places, new_k, turn, k, expected_k);
    take_rotated_queries(places, asked_q, turn, rotated_q, expected_q);
    RECTO_REQUIRE(k.bytes() == expected_k.bytes());
    RECTO_REQUIRE(v.bytes() == expected_v.bytes());
    RECTO_REQUIRE(rotated_q.bytes() == expected_q.bytes());
  });
}

}  // namespace
}  // namespace recto::verify

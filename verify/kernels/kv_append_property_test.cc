// Append on the executor: without rotary embedding it is the reference's write at the slots that
// tables and lengths lead to, bit for bit; with it, K and q are within the reference's bound, and
// all else is the same bits.

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

// Where each sequence's new token goes.
struct Places {
  std::int64_t max_blocks = 0;
  std::vector<std::int32_t> table;          // [num_seqs, max_blocks + 1]
  std::vector<std::int32_t> cached_length;  // [num_seqs]
  std::vector<std::int64_t> slots;          // [num_seqs], -1: nowhere

  std::int64_t num_seqs() const { return std::ssize(cached_length); }
  // Tokens that rotary tables have no position for go nowhere.
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

// Each sequence with a block of its own, at the place in its table that counts; padding, lengths
// beyond the table, and tables without a block there.
Places draw_places(const TestPoolShape& shape) {
  Places places;
  places.max_blocks = draw(1, 4);
  for (const std::int64_t block : draw_distinct(draw(1, shape.num_blocks), shape.num_blocks)) {
    const std::int64_t length = draw(-1, places.max_blocks * shape.block_size + 1);
    const std::int64_t index = length < 0 ? -1 : length / shape.block_size;
    const bool is_there = index >= 0 && index < places.max_blocks && draw(0, 7) != 0;
    for (std::int64_t i = 0; i <= places.max_blocks; ++i) {
      const std::int64_t id = i != index ? 1 << 30 : is_there ? block : -1;
      places.table.push_back(static_cast<std::int32_t>(id));
    }
    places.cached_length.push_back(static_cast<std::int32_t>(length));
    places.slots.push_back(is_there ? block * shape.block_size + length % shape.block_size : -1);
  }
  return places;
}

// A call, but for where it writes.
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
  rc::prop("for every pair of types, and tables with holes", [] {
    const WriteTypes types = draw_write_types();
    const TestPoolShape shape = draw_pool(types.cache);
    KvPool k(shape, draw_seed());
    KvPool v(draw_values(shape), draw_seed());
    const Places places = draw_places(shape);
    RowPool new_k(rows_for(k.shape(), places.num_seqs(), types.source), draw_seed());
    RowPool new_v(rows_for(v.shape(), places.num_seqs(), types.source), draw_seed());
    const Scales scales_k = draw_scales(shape, -6);
    const Scales scales_v = draw_scales(shape, -6);
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
    append_kv_by_kernel(draw_run(), params);
    if (types.source != types.cache) {
      forget_nans(expected_k, k);
      forget_nans(expected_v, v);
    }
    RC_ASSERT(k.bytes() == expected_k.bytes());
    RC_ASSERT(v.bytes() == expected_v.bytes());
    for (std::int64_t seq = 0; seq < places.num_seqs(); ++seq) {
      RC_ASSERT(context_length[static_cast<std::size_t>(seq)] == places.context_length(seq));
    }
  });
}

// Of `type`, rounded once.
struct Tables {
  Tables(const RotaryOptions& options, std::int64_t positions, ElementType type)
      : cosines(shape_of(options, positions, type), 1), sines(cosines.shape(), 2) {
    for (std::int64_t position = 0; position < positions; ++position) {
      for (std::int64_t pair = 0; pair < options.rotary_dim / 2; ++pair) {
        const double exponent =
            -2.0 * static_cast<double>(pair) / static_cast<double>(options.rotary_dim);
        const double angle = static_cast<double>(position) * std::pow(options.base, exponent);
        cosines.set_code(position, 0, pair, reference::encode(std::cos(angle), type));
        sines.set_code(position, 0, pair, reference::encode(std::sin(angle), type));
      }
    }
  }

  static RowPoolShape shape_of(const RotaryOptions& options, std::int64_t positions,
                               ElementType type) {
    const std::int64_t pairs = options.rotary_dim / 2;
    return {.type = type, .num_rows = positions, .head_dim = pairs, .padding = draw(0, 3)};
  }

  // Cosines and sines are at most 1.
  double error() const { return reference::unit_roundoff(cosines.shape().type) / 2; }

  RowPool cosines;
  RowPool sines;
};

RotaryOptions draw_rotary(std::int64_t head_dim) {
  return {.pairing = *rc::gen::element(reference::RotaryPairing::kHalves,
                                       reference::RotaryPairing::kInterleaved),
          .rotary_dim = 2 * (draw(0, 1) == 0 ? head_dim / 2 : draw(1, head_dim / 2)),
          .base = *rc::gen::element(100.0, 10000.0, 500000.0)};
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
void fill_with_units(RowPool& rows) {
  RandomStream stream(draw_seed());
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

// What a row turned to `position` and stored in a type must be.
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

// Where the kernel's K is within its bound, `expected` takes it over.
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
        RC_ASSERT(rotated.allows(dim, reference::decode(seen.code(place), shape.type) * scale));
        expected.set_code(place, seen.code(place));
      }
    }
  }
}

// Rows without a position stay as they are.
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
          RC_ASSERT(rotated.allows(dim, reference::decode(code, shape.type)));
          expected.set_code(seq, head, dim, code);
        }
      }
    }
  }
}

TEST_CASE("the append kernel rotates K and q within the bound, and changes nothing else") {
  rc::prop("for every pair of types, both pairings, q in place or elsewhere", [] {
    const WriteTypes types = draw_write_types();
    TestPoolShape shape = draw_pool(types.cache);
    if (shape.head_dim == 1) shape.head_dim = 2 * shape.pack_width;
    KvPool k(shape, draw_seed());
    KvPool v(draw_values(shape), draw_seed());
    Places places = draw_places(shape);
    RowPool new_k(rows_for(k.shape(), places.num_seqs(), types.source), draw_seed());
    RowPool new_v(rows_for(v.shape(), places.num_seqs(), types.source), draw_seed());
    RowPoolShape q_shape = rows_for(k.shape(), places.num_seqs(), types.source);
    q_shape.num_heads *= draw(1, 3);
    RowPool q(q_shape, draw_seed());
    for (RowPool* rows : {&new_k, &new_v, &q}) fill_with_units(*rows);
    // No quotient is beyond the largest code.
    const Scales scales = draw_scales(shape, -7);
    const RotaryOptions options = draw_rotary(shape.head_dim);
    const std::int64_t positions = draw(1, (places.max_blocks + 1) * shape.block_size);
    places.forget_beyond(positions);
    Tables tables(options, positions,
                  *rc::gen::element(ElementType::kFp32, ElementType::kFp16, ElementType::kBf16));
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
    RowPool elsewhere(q_shape, draw_seed());
    RowPool& rotated_q = draw(0, 1) == 0 ? q : elsewhere;
    RowPool expected_q = rotated_q;
    params.q = q.const_view();
    params.rotated_q = rotated_q.view();
    append_kv_by_kernel(draw_run(), params);

    take_rotated_keys(places, new_k, turn, k, expected_k);
    take_rotated_queries(places, asked_q, turn, rotated_q, expected_q);
    RC_ASSERT(k.bytes() == expected_k.bytes());
    RC_ASSERT(v.bytes() == expected_v.bytes());
    RC_ASSERT(rotated_q.bytes() == expected_q.bytes());
  });
}

}  // namespace
}  // namespace recto::verify

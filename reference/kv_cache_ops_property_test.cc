// Properties of the four operations: all memory of both tensors, gaps and margins included, stays
// unchanged except for the requested codes. The pools find their places by counting.

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <ostream>
#include <vector>

#include "bazel/testing/property.h"
#include "reference/kv_cache_ops.h"
#include "reference/rounding.h"
#include "reference/testing/kv_pool.h"
#include "reference/testing/kv_pool_generator.h"

namespace recto::reference {
namespace {

struct TypePair {
  ElementType source;
  ElementType cache;
};

std::ostream& operator<<(std::ostream& out, const TypePair& types) {
  return out << types.source << " into " << types.cache;
}

TypePair draw_types(Draw& draw) {
  using enum ElementType;
  static constexpr TypePair kPairs[] = {{kFp32, kFp32}, {kFp16, kFp16}, {kBf16, kBf16},
                                        {kFp32, kFp16}, {kFp32, kBf16}, {kFp16, kE4m3},
                                        {kBf16, kE4m3}, {kFp32, kE4m3}, {kFp16, kE5m2},
                                        {kBf16, kE5m2}, {kFp32, kE5m2}};
  return draw.element(kPairs, "types");
}

std::vector<float> draw_scales(Draw& draw, std::int64_t num_heads) {
  return draw.composite("scales", [num_heads](Draw& parts) {
    std::vector<float> scales;
    for (std::int64_t head = 0; head < num_heads; ++head) {
      scales.push_back(static_cast<float>(parts.uniform(1, 1000)) * 0.37F);
    }
    return scales;
  });
}

std::uint32_t expected_code(std::uint32_t code, const TypePair& types, float scale) {
  if (types.source == types.cache) return code;
  const double value = decode(code, types.source);
  if (!is_fp8(types.cache)) return encode(value, types.cache);
  const float quotient = static_cast<float>(value) / scale;
  return encode(quotient, types.cache, Overflow::kSaturate);
}

// Writes one token into `expected`, a copy of the pool before the write.
void expect_token(KvPool& expected, std::int64_t slot, const RowPool& rows, std::int64_t token,
                  const auto& code_of) {
  const TestPoolShape& shape = expected.shape();
  for (std::int64_t head = 0; head < shape.num_kv_heads; ++head) {
    for (std::int64_t dim = 0; dim < shape.head_dim; ++dim) {
      const std::int64_t place =
          expected.place(slot / shape.block_size, head, slot % shape.block_size, dim);
      expected.set_code(place, code_of(rows.code(token, head, dim), head));
    }
  }
}

void expect_block(KvPool& expected, const KvPool& from, const BlockPair& pair) {
  const TestPoolShape& shape = from.shape();
  for (std::int64_t head = 0; head < shape.num_kv_heads; ++head) {
    for (std::int64_t slot = 0; slot < shape.block_size; ++slot) {
      for (std::int64_t dim = 0; dim < shape.head_dim; ++dim) {
        expected.set_code(expected.place(pair.destination, head, slot, dim),
                          from.code(from.place(pair.source, head, slot, dim)));
      }
    }
  }
}

TEST_CASE("a counterexample describes its pools and rows") {
  const TestPoolShape shape{.layout = KvLayout::kPacked,
                            .type = ElementType::kE4m3,
                            .num_blocks = 3,
                            .block_size = 5,
                            .num_kv_heads = 2,
                            .head_dim = 8,
                            .pack_width = 4,
                            .padding = 1};
  CHECK(Catch::Detail::stringify(shape) ==
        "packed e4m3, 3 blocks of 5 slots, 2 KV heads of 8 dims, packs of 4, gaps of 1");
  CHECK(Catch::Detail::stringify(RowPoolShape{ElementType::kFp32, 7, 2, 8, 0}) ==
        "fp32, 7 rows of 2 heads of 8 dims, gaps of 0");
}

TEST_CASE("a write leaves the codes of its tokens in their slots, and all else as it was") {
  property("for every layout, pair of types and mapping", [](Draw& draw) {
    const TypePair types = draw_types(draw);
    const TestPoolShape shape = draw_shape(draw, types.cache);
    KvPool k(shape, draw.seed());
    KvPool v(draw_partner(draw, shape), draw.seed());
    const std::int64_t tokens = draw.uniform(0, 8, "tokens");
    RowPool new_k(draw_rows_like(draw, k.shape(), tokens, types.source), draw.seed());
    RowPool new_v(draw_rows_like(draw, v.shape(), tokens, types.source), draw.seed());
    const std::vector<float> scales = draw_scales(draw, shape.num_kv_heads);

    // Draws from half of all slots, and -1, so that some tokens share a slot.
    const std::vector<std::int64_t> slots = draw.composite("slots", [shape, tokens](Draw& parts) {
      std::vector<std::int64_t> drawn_slots;
      for (std::int64_t token = 0; token < tokens; ++token) {
        drawn_slots.push_back(parts.uniform(-1, (shape.num_blocks * shape.block_size - 1) / 2));
      }
      return drawn_slots;
    });
    KvPool expected_k = k;
    KvPool expected_v = v;
    for (std::int64_t token = 0; token < tokens; ++token) {
      const std::int64_t slot = slots[static_cast<std::size_t>(token)];
      if (slot < 0) continue;
      const auto code_of = [&](std::uint32_t code, std::int64_t head) {
        return expected_code(code, types, scales[static_cast<std::size_t>(head)]);
      };
      expect_token(expected_k, slot, new_k, token, code_of);
      expect_token(expected_v, slot, new_v, token, code_of);
    }

    KvWriteInputs inputs = {.k = new_k.const_view(),
                            .v = new_v.const_view(),
                            .slot_mapping = slots,
                            .kv = {.k = k.view(), .v = v.view()}};
    if (is_fp8(types.cache)) {
      inputs.kv.k.scale = {.kind = ScaleKind::kPerKvHead, .data = scales.data()};
      inputs.kv.v.scale = inputs.kv.k.scale;
    }
    write_kv(inputs);
    RECTO_REQUIRE((k.bytes() == expected_k.bytes()));
    RECTO_REQUIRE((v.bytes() == expected_v.bytes()));
  });
}

TEST_CASE("copied blocks hold their sources' codes, and all else is as it was") {
  property("within a pool", [](Draw& draw) {
    const TestPoolShape shape = draw_shape(draw, draw.element(kElementTypes));
    KvPool k(shape, draw.seed());
    KvPool v(draw_partner(draw, shape), draw.seed());
    // The first blocks of a permutation are sources, the rest destinations; one of them may occur
    // twice.
    const auto order = draw_distinct(draw, shape.num_blocks, shape.num_blocks);
    const std::int64_t sources = draw.uniform(1, shape.num_blocks - 1, "sources");
    std::vector<BlockPair> pairs;
    for (std::int64_t i = draw.uniform(0, 6); i > 0; --i) {
      pairs.push_back(
          {static_cast<std::int32_t>(order[draw.uniform(0, sources - 1)]),
           static_cast<std::int32_t>(order[draw.uniform(sources, shape.num_blocks - 1)])});
    }
    KvPool expected_k = k;
    KvPool expected_v = v;
    for (const BlockPair& pair : pairs) {
      expect_block(expected_k, k, pair);
      expect_block(expected_v, v, pair);
    }
    copy_blocks({.k = k.view(), .v = v.view()}, pairs);
    RECTO_REQUIRE((k.bytes() == expected_k.bytes()));
    RECTO_REQUIRE((v.bytes() == expected_v.bytes()));
  });
}

TEST_CASE("swapped blocks keep every code, whatever the two layouts") {
  property("out and in again", [](Draw& draw) {
    const TestPoolShape shape = draw_shape(draw, draw.element(kElementTypes));
    KvPool k(shape, draw.seed());
    KvPool v(draw_partner(draw, shape), draw.seed());
    KvPool host_k(draw_copy(draw, k.shape()), draw.seed());
    TestPoolShape host_v_shape = draw_copy(draw, v.shape());
    host_v_shape.num_blocks = host_k.shape().num_blocks;
    KvPool host_v(host_v_shape, draw.seed());

    const std::int64_t most = std::min(shape.num_blocks, host_v_shape.num_blocks);
    const std::int64_t count = draw.uniform(0, most, "blocks");
    const auto here = draw_distinct(draw, count, shape.num_blocks);
    const auto there = draw_distinct(draw, count, host_v_shape.num_blocks);
    std::vector<BlockPair> out;
    std::vector<BlockPair> in;
    KvPool expected_k = host_k;
    KvPool expected_v = host_v;
    for (std::size_t i = 0; i < here.size(); ++i) {
      out.push_back({static_cast<std::int32_t>(here[i]), static_cast<std::int32_t>(there[i])});
      in.push_back({out.back().destination, out.back().source});
      expect_block(expected_k, k, out.back());
      expect_block(expected_v, v, out.back());
    }
    swap_blocks({.k = k.const_view(), .v = v.const_view()},
                {.k = host_k.view(), .v = host_v.view()}, out);
    RECTO_REQUIRE((host_k.bytes() == expected_k.bytes()));
    RECTO_REQUIRE((host_v.bytes() == expected_v.bytes()));

    // Swaps back into blocks that were overwritten in between.
    KvPool fresh_k(k);
    KvPool fresh_v(v);
    for (const BlockPair& pair : out) {
      const BlockPair junk = {static_cast<std::int32_t>((pair.source + 1) % shape.num_blocks),
                              pair.source};
      expect_block(fresh_k, k, junk);
      expect_block(fresh_v, v, junk);
    }
    swap_blocks({.k = host_k.const_view(), .v = host_v.const_view()},
                {.k = fresh_k.view(), .v = fresh_v.view()}, in);
    RECTO_REQUIRE((fresh_k.bytes() == k.bytes()));
    RECTO_REQUIRE((fresh_v.bytes() == v.bytes()));
  });
}

// Sequences over disjoint blocks of a pool, in any order.
struct Sequences {
  std::int64_t max_blocks = 0;
  std::vector<std::int32_t> table;    // [num_seqs, max_blocks + 1]; each row ends with -1
  std::vector<std::int32_t> lengths;  // [num_seqs]
  std::vector<std::int64_t> starts;   // [num_seqs]
  std::vector<std::int64_t> slots;    // of all tokens, one sequence after the other
};

std::ostream& operator<<(std::ostream& out, const Sequences& sequences) {
  return out << "of lengths " << Catch::Detail::stringify(sequences.lengths)
             << ", tables with -1 at the end of each row "
             << Catch::Detail::stringify(sequences.table);
}

Sequences draw_sequences(Draw& draw, const TestPoolShape& shape) {
  const std::vector<std::int64_t> blocks = draw_distinct(draw, shape.num_blocks, shape.num_blocks);
  const std::int64_t num_seqs = draw.uniform(1, 2);
  Sequences sequences;
  sequences.max_blocks = shape.num_blocks / num_seqs;
  auto next_block = blocks.begin();
  for (std::int64_t seq = 0; seq < num_seqs; ++seq) {
    const std::vector<std::int32_t> own(next_block, next_block + sequences.max_blocks);
    next_block += sequences.max_blocks;
    sequences.table.insert(sequences.table.end(), own.begin(), own.end());
    sequences.table.push_back(-1);
    sequences.starts.push_back(std::ssize(sequences.slots));
    const std::int64_t length = draw.uniform(0, sequences.max_blocks * shape.block_size);
    sequences.lengths.push_back(static_cast<std::int32_t>(length));
    for (std::int64_t token = 0; token < length; ++token) {
      const std::int64_t block = own[static_cast<std::size_t>(token / shape.block_size)];
      sequences.slots.push_back(block * shape.block_size + token % shape.block_size);
    }
  }
  return sequences;
}

// Copies the first `tokens` rows of `source` into `expected`, a copy of the rows before the call.
void expect_rows(RowPool& expected, const RowPool& source, std::int64_t tokens) {
  const RowPoolShape& shape = expected.shape();
  for (std::int64_t row = 0; row < tokens; ++row) {
    for (std::int64_t head = 0; head < shape.num_heads; ++head) {
      for (std::int64_t dim = 0; dim < shape.head_dim; ++dim) {
        expected.set_code(row, head, dim, source.code(row, head, dim));
      }
    }
  }
}

TEST_CASE("a gather returns what was written through a block table, and changes nothing else") {
  property("for every layout and type", [](Draw& draw) {
    const auto type = draw.element({ElementType::kFp32, ElementType::kFp16, ElementType::kBf16});
    const TestPoolShape shape = draw_shape(draw, type);
    KvPool k(shape, draw.seed());
    KvPool v(draw_partner(draw, shape), draw.seed());
    const Sequences sequences =
        draw.composite("sequences", [shape](Draw& parts) { return draw_sequences(parts, shape); });
    const std::int64_t tokens = std::ssize(sequences.slots);
    RowPool source_k(draw_rows_like(draw, k.shape(), tokens, type), draw.seed());
    RowPool source_v(draw_rows_like(draw, v.shape(), tokens, type), draw.seed());
    write_kv({.k = source_k.const_view(),
              .v = source_v.const_view(),
              .slot_mapping = sequences.slots,
              .kv = {.k = k.view(), .v = v.view()}});

    RowPool rows_k(draw_rows_like(draw, k.shape(), tokens + 1, type), draw.seed());
    RowPool rows_v(draw_rows_like(draw, v.shape(), tokens + 1, type), draw.seed());
    RowPool expected_k = rows_k;
    RowPool expected_v = rows_v;
    expect_rows(expected_k, source_k, tokens);
    expect_rows(expected_v, source_v, tokens);
    gather_kv({.kv = {.k = k.const_view(), .v = v.const_view()},
               .block_table = {.data = sequences.table.data(),
                               .num_seqs = std::ssize(sequences.lengths),
                               .max_blocks = sequences.max_blocks,
                               .row_stride = sequences.max_blocks + 1},
               .context_length = sequences.lengths,
               .context_start = sequences.starts,
               .k = rows_k.view(),
               .v = rows_v.view()});
    RECTO_REQUIRE((rows_k.bytes() == expected_k.bytes()));
    RECTO_REQUIRE((rows_v.bytes() == expected_v.bytes()));
  });
}

}  // namespace
}  // namespace recto::reference

// KV write, block copy and gather on the executor against the reference, on drawn pools: all of the
// memory of both must be the same afterwards, gaps and margins included, bit for bit (which NaN a
// NaN becomes that is rounded is nobody's promise).

#include "verify/kernel_cache_ops.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <vector>

#include "bazel/testing/property.h"
#include "reference/rounding.h"
#include "reference/testing/kv_pool.h"
#include "reference/testing/kv_pool_generator.h"

namespace recto::verify {
namespace {

using reference::draw;
using reference::draw_distinct;
using reference::draw_seed;
using reference::KvPool;
using reference::RowPool;
using reference::RowPoolShape;
using reference::TestPoolShape;

KernelRun draw_run() {
  return {.executor = {
              .schedule = {.policy = simt::kSchedulePolicies[draw(0, 3)], .seed = draw_seed()}}};
}

// Half of all dims, and of all gaps, are multiples of four, so that vectors are loaded; a warp
// takes 128 dims in one round.
std::int64_t draw_head_dim() { return draw(0, 1) == 0 ? 4 * draw(1, 40) : draw(1, 140); }
std::int64_t draw_gap() { return draw(0, 1) == 0 ? 4 * draw(0, 2) : draw(0, 5); }

TestPoolShape draw_pool(ElementType type) {
  return {.layout = *rc::gen::element(KvLayout::kTokenMajor, KvLayout::kHeadMajor),
          .type = type,
          .num_blocks = draw(2, 6),
          .block_size = draw(1, 20),
          .num_kv_heads = draw(1, 5),
          .head_dim = draw_head_dim(),
          .padding = draw_gap()};
}

TestPoolShape draw_values(const TestPoolShape& keys) {
  TestPoolShape values = keys;
  values.layout = *rc::gen::element(KvLayout::kTokenMajor, KvLayout::kHeadMajor);
  values.head_dim = draw_head_dim();
  values.padding = draw_gap();
  return values;
}

RowPoolShape rows_for(const TestPoolShape& shape, std::int64_t num_rows, ElementType type) {
  return {.type = type,
          .num_rows = num_rows,
          .num_heads = shape.num_kv_heads,
          .head_dim = shape.head_dim,
          .padding = draw_gap()};
}

ElementType draw_type() { return kElementTypes[draw(0, std::ssize(kElementTypes) - 1)]; }

bool is_nan(const KvPool& pool, std::int64_t place) {
  return std::isnan(reference::decode(pool.code(place), pool.shape().type));
}

// Gives `seen` the NaN of `expected` wherever both are NaN.
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

struct TypePair {
  ElementType source;
  ElementType cache;
};

TypePair draw_write_types() {
  using enum ElementType;
  static constexpr TypePair kPairs[] = {
      {kFp32, kFp32}, {kFp16, kFp16}, {kBf16, kBf16}, {kFp32, kFp16}, {kFp32, kBf16}};
  return kPairs[draw(0, std::ssize(kPairs) - 1)];
}

TEST_CASE("the write kernel leaves the pool as the reference does") {
  rc::prop("for every pair of types and mapping", [] {
    const TypePair types = draw_write_types();
    const TestPoolShape shape = draw_pool(types.cache);
    KvPool k(shape, draw_seed());
    KvPool v(draw_values(shape), draw_seed());
    const std::int64_t tokens = draw(0, 12);
    RowPool new_k(rows_for(k.shape(), tokens, types.source), draw_seed());
    RowPool new_v(rows_for(v.shape(), tokens, types.source), draw_seed());
    // Few slots, so that some tokens meet in one, and -1 too.
    std::vector<std::int64_t> slots;
    for (std::int64_t token = 0; token < tokens; ++token) {
      slots.push_back(
          draw(-1, std::min<std::int64_t>(14, shape.num_blocks * shape.block_size - 1)));
    }
    KvWriteInputs inputs = {
        .k = new_k.const_view(), .v = new_v.const_view(), .slot_mapping = slots};
    KvPool expected_k = k;
    KvPool expected_v = v;
    inputs.kv = {.k = expected_k.view(), .v = expected_v.view()};
    reference::write_kv(inputs);
    inputs.kv = {.k = k.view(), .v = v.view()};
    write_kv_by_kernel(draw_run(), inputs);
    if (types.source != types.cache) {
      forget_nans(expected_k, k);
      forget_nans(expected_v, v);
    }
    RC_ASSERT(k.bytes() == expected_k.bytes());
    RC_ASSERT(v.bytes() == expected_v.bytes());
  });
}

TEST_CASE("the copy kernel leaves the pool as the reference does") {
  rc::prop("for every type and list of pairs", [] {
    const TestPoolShape shape = draw_pool(draw_type());
    KvPool k(shape, draw_seed());
    KvPool v(draw_values(shape), draw_seed());
    // The first of a permutation are sources, the rest destinations.
    const auto order = draw_distinct(shape.num_blocks, shape.num_blocks);
    const std::int64_t sources = draw(1, shape.num_blocks - 1);
    std::vector<BlockPair> pairs;
    const std::int64_t end = draw(sources, shape.num_blocks);
    for (std::int64_t i = sources; i < end; ++i) {
      pairs.push_back({static_cast<std::int32_t>(order[draw(0, sources - 1)]),
                       static_cast<std::int32_t>(order[static_cast<std::size_t>(i)])});
    }
    KvPool expected_k = k;
    KvPool expected_v = v;
    reference::copy_blocks({.k = expected_k.view(), .v = expected_v.view()}, pairs);
    copy_blocks_by_kernel(draw_run(), {.k = k.view(), .v = v.view()}, pairs);
    RC_ASSERT(k.bytes() == expected_k.bytes());
    RC_ASSERT(v.bytes() == expected_v.bytes());
  });
}

// Contexts over disjoint blocks; what the table holds beyond them is no block.
struct Contexts {
  std::int64_t max_blocks = 0;
  std::vector<std::int32_t> table;    // [num_seqs, max_blocks + 1]
  std::vector<std::int32_t> lengths;  // [num_seqs]
  std::vector<std::int64_t> starts;   // [num_seqs]
  std::int64_t tokens = 0;            // of all
};

Contexts draw_contexts(const TestPoolShape& shape) {
  const std::vector<std::int64_t> blocks = draw_distinct(shape.num_blocks, shape.num_blocks);
  const std::int64_t num_seqs = draw(1, 2);
  Contexts contexts;
  contexts.max_blocks = shape.num_blocks / num_seqs;
  auto next_block = blocks.begin();
  for (std::int64_t seq = 0; seq < num_seqs; ++seq) {
    const std::int64_t length = draw(0, contexts.max_blocks * shape.block_size);
    for (std::int64_t i = 0; i < contexts.max_blocks; ++i) {
      const bool is_held = i * shape.block_size < length;
      contexts.table.push_back(is_held ? static_cast<std::int32_t>(*next_block) : 1 << 30);
      ++next_block;
    }
    contexts.table.push_back(-1);
    contexts.lengths.push_back(static_cast<std::int32_t>(length));
    contexts.starts.push_back(contexts.tokens);
    contexts.tokens += length;
  }
  return contexts;
}

TEST_CASE("the gather kernel leaves the rows as the reference does") {
  rc::prop("for every type and block table", [] {
    const ElementType type = draw_type();
    const TestPoolShape shape = draw_pool(type);
    KvPool k(shape, draw_seed());
    KvPool v(draw_values(shape), draw_seed());
    const Contexts contexts = draw_contexts(shape);
    RowPool rows_k(rows_for(k.shape(), contexts.tokens + 1, type), draw_seed());
    RowPool rows_v(rows_for(v.shape(), contexts.tokens + 1, type), draw_seed());
    RowPool expected_k = rows_k;
    RowPool expected_v = rows_v;
    GatherInputs inputs = {.kv = {.k = k.const_view(), .v = v.const_view()},
                           .block_table = {.data = contexts.table.data(),
                                           .num_seqs = std::ssize(contexts.lengths),
                                           .max_blocks = contexts.max_blocks,
                                           .row_stride = contexts.max_blocks + 1},
                           .context_length = contexts.lengths,
                           .context_start = contexts.starts,
                           .k = expected_k.view(),
                           .v = expected_v.view()};
    reference::gather_kv(inputs);
    inputs.k = rows_k.view();
    inputs.v = rows_v.view();
    gather_kv_by_kernel(draw_run(), inputs);
    RC_ASSERT(rows_k.bytes() == expected_k.bytes());
    RC_ASSERT(rows_v.bytes() == expected_v.bytes());
  });
}

}  // namespace
}  // namespace recto::verify

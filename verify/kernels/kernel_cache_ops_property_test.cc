// KV write, block copy, swap and gather on the executor against the reference, on drawn pools:
// afterwards all memory of both must be bit-identical, gaps and margins included.

#include "verify/kernels/kernel_cache_ops.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "bazel/testing/property.h"
#include "reference/testing/kv_pool.h"
#include "verify/kernels/drawn_pools.h"

namespace recto::verify {
namespace {

bool has_repeated(std::vector<std::int64_t> slots) {
  std::erase(slots, -1);
  std::ranges::sort(slots);
  return std::ranges::adjacent_find(slots) != slots.end();
}

TEST_CASE("the write kernel leaves the pool as the reference does") {
  property("for every pair of types and mapping", [](Draw& draw) {
    const WriteTypes types = draw_write_types(draw);
    const TestPoolShape shape = draw_pool(draw, types.cache);
    KvPool k(shape, draw.seed());
    KvPool v(draw_values(draw, shape), draw.seed());
    const std::int64_t tokens = draw.uniform(0, 12);
    RowPool new_k(draw_rows_for(draw, k.shape(), tokens, types.source), draw.seed());
    RowPool new_v(draw_rows_for(draw, v.shape(), tokens, types.source), draw.seed());
    // Few slots, so that some tokens share a slot; also -1.
    std::vector<std::int64_t> slots;
    for (std::int64_t token = 0; token < tokens; ++token) {
      slots.push_back(
          draw.uniform(-1, std::min<std::int64_t>(14, shape.num_blocks * shape.block_size - 1)));
    }
    KvWriteInputs inputs = {
        .k = new_k.const_view(), .v = new_v.const_view(), .slot_mapping = slots};
    KvPool expected_k = k;
    KvPool expected_v = v;
    // Sometimes down to the smallest normal number.
    const std::int64_t least_exponent = draw.uniform(0, 3) == 0 ? -126 : -6;
    const Scales scales_k = draw_scales(draw, shape, least_exponent);
    const Scales scales_v = draw_scales(draw, shape, least_exponent);
    inputs.kv = {.k = scaled(expected_k, scales_k), .v = scaled(expected_v, scales_v)};
    reference::write_kv(inputs);
    inputs.kv = {.k = scaled(k, scales_k), .v = scaled(v, scales_v)};
    // If the promise holds, it must change nothing.
    const bool promises = !has_repeated(slots) && draw.uniform(0, 1) == 1;
    write_kv_by_kernel(
        draw_run(draw), inputs,
        promises ? kernels::RepeatedSlots::kNone : kernels::RepeatedSlots::kLaterStays);
    if (types.source != types.cache) {
      forget_nans(expected_k, k);
      forget_nans(expected_v, v);
    }
    RECTO_REQUIRE(k.bytes() == expected_k.bytes());
    RECTO_REQUIRE(v.bytes() == expected_v.bytes());
  });
}

TEST_CASE("the copy kernel leaves the pool as the reference does") {
  property("for every type and list of pairs", [](Draw& draw) {
    const TestPoolShape shape = draw_pool(draw, draw_type(draw));
    KvPool k(shape, draw.seed());
    KvPool v(draw_values(draw, shape), draw.seed());
    // The first ids of a permutation are sources, the rest destinations.
    const auto order = draw_distinct(draw, shape.num_blocks, shape.num_blocks);
    const std::int64_t sources = draw.uniform(1, shape.num_blocks - 1);
    std::vector<BlockPair> pairs;
    const std::int64_t end = draw.uniform(sources, shape.num_blocks);
    for (std::int64_t i = sources; i < end; ++i) {
      pairs.push_back({static_cast<std::int32_t>(order[draw.uniform(0, sources - 1)]),
                       static_cast<std::int32_t>(order[static_cast<std::size_t>(i)])});
    }
    KvPool expected_k = k;
    KvPool expected_v = v;
    reference::copy_blocks({.k = expected_k.view(), .v = expected_v.view()}, pairs);
    copy_blocks_by_kernel(draw_run(draw), {.k = k.view(), .v = v.view()}, pairs);
    RECTO_REQUIRE(k.bytes() == expected_k.bytes());
    RECTO_REQUIRE(v.bytes() == expected_v.bytes());
  });
}

TEST_CASE("the copy kernel swaps blocks between pools as the reference does") {
  property("for every type, and pools of any layouts", [](Draw& draw) {
    const TestPoolShape shape_k = draw_pool(draw, draw_type(draw));
    const TestPoolShape shape_v = draw_values(draw, shape_k);
    KvPool from_k(shape_k, draw.seed());
    KvPool from_v(shape_v, draw.seed());
    TestPoolShape other_k = draw_other_pool(draw, shape_k);
    TestPoolShape other_v = draw_other_pool(draw, shape_v);
    other_v.num_blocks = other_k.num_blocks;
    KvPool to_k(other_k, draw.seed());
    KvPool to_v(other_v, draw.seed());
    std::vector<BlockPair> pairs;
    for (const std::int64_t destination :
         draw_distinct(draw, draw.uniform(0, other_k.num_blocks), other_k.num_blocks)) {
      pairs.push_back({static_cast<std::int32_t>(draw.uniform(0, shape_k.num_blocks - 1)),
                       static_cast<std::int32_t>(destination)});
    }
    const PagedKvView from = {.k = from_k.const_view(), .v = from_v.const_view()};
    KvPool expected_k = to_k;
    KvPool expected_v = to_v;
    reference::swap_blocks(from, {.k = expected_k.view(), .v = expected_v.view()}, pairs);
    swap_blocks_by_kernel(draw_run(draw), from, {.k = to_k.view(), .v = to_v.view()}, pairs);
    RECTO_REQUIRE(to_k.bytes() == expected_k.bytes());
    RECTO_REQUIRE(to_v.bytes() == expected_v.bytes());
  });
}

// Contexts over disjoint blocks; table entries beyond them are invalid ids.
struct Contexts {
  std::int64_t max_blocks = 0;
  std::vector<std::int32_t> table;    // [num_seqs, max_blocks + 1]
  std::vector<std::int32_t> lengths;  // [num_seqs]
  std::vector<std::int64_t> starts;   // [num_seqs]
  std::int64_t tokens = 0;            // of all sequences
};

Contexts draw_contexts(Draw& draw, const TestPoolShape& shape) {
  const std::vector<std::int64_t> blocks = draw_distinct(draw, shape.num_blocks, shape.num_blocks);
  const std::int64_t num_seqs = draw.uniform(1, 2);
  Contexts contexts;
  contexts.max_blocks = shape.num_blocks / num_seqs;
  auto next_block = blocks.begin();
  for (std::int64_t seq = 0; seq < num_seqs; ++seq) {
    const std::int64_t length = draw.uniform(0, contexts.max_blocks * shape.block_size);
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
  property("for every type and block table", [](Draw& draw) {
    const ElementType type = draw_type(draw);
    const TestPoolShape shape = draw_pool(draw, type);
    KvPool k(shape, draw.seed());
    KvPool v(draw_values(draw, shape), draw.seed());
    const Contexts contexts = draw_contexts(draw, shape);
    RowPool rows_k(draw_rows_for(draw, k.shape(), contexts.tokens + 1, type), draw.seed());
    RowPool rows_v(draw_rows_for(draw, v.shape(), contexts.tokens + 1, type), draw.seed());
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
    gather_kv_by_kernel(draw_run(draw), inputs);
    RECTO_REQUIRE(rows_k.bytes() == expected_k.bytes());
    RECTO_REQUIRE(rows_v.bytes() == expected_v.bytes());
  });
}

}  // namespace
}  // namespace recto::verify

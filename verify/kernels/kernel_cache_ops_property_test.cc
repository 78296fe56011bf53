// KV write, block copy, swap and gather on the executor against the reference, on drawn pools: all
// of the memory of both must be the same afterwards, gaps and margins included, bit for bit.

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
  rc::prop("for every pair of types and mapping", [] {
    const WriteTypes types = draw_write_types();
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
    // Down to the smallest normal number, now and then.
    const std::int64_t least_exponent = draw(0, 3) == 0 ? -126 : -6;
    const Scales scales_k = draw_scales(shape, least_exponent);
    const Scales scales_v = draw_scales(shape, least_exponent);
    inputs.kv = {.k = scaled(expected_k, scales_k), .v = scaled(expected_v, scales_v)};
    reference::write_kv(inputs);
    inputs.kv = {.k = scaled(k, scales_k), .v = scaled(v, scales_v)};
    // Where the promise is kept, it changes nothing.
    const bool promises = !has_repeated(slots) && draw(0, 1) == 1;
    write_kv_by_kernel(
        draw_run(), inputs,
        promises ? kernels::RepeatedSlots::kNone : kernels::RepeatedSlots::kLaterStays);
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

TEST_CASE("the copy kernel swaps blocks between pools as the reference does") {
  rc::prop("for every type, and pools of any layouts", [] {
    const TestPoolShape shape_k = draw_pool(draw_type());
    const TestPoolShape shape_v = draw_values(shape_k);
    KvPool from_k(shape_k, draw_seed());
    KvPool from_v(shape_v, draw_seed());
    TestPoolShape other_k = draw_other_pool(shape_k);
    TestPoolShape other_v = draw_other_pool(shape_v);
    other_v.num_blocks = other_k.num_blocks;
    KvPool to_k(other_k, draw_seed());
    KvPool to_v(other_v, draw_seed());
    std::vector<BlockPair> pairs;
    for (const std::int64_t destination :
         draw_distinct(draw(0, other_k.num_blocks), other_k.num_blocks)) {
      pairs.push_back({static_cast<std::int32_t>(draw(0, shape_k.num_blocks - 1)),
                       static_cast<std::int32_t>(destination)});
    }
    const PagedKvView from = {.k = from_k.const_view(), .v = from_v.const_view()};
    KvPool expected_k = to_k;
    KvPool expected_v = to_v;
    reference::swap_blocks(from, {.k = expected_k.view(), .v = expected_v.view()}, pairs);
    swap_blocks_by_kernel(draw_run(), from, {.k = to_k.view(), .v = to_v.view()}, pairs);
    RC_ASSERT(to_k.bytes() == expected_k.bytes());
    RC_ASSERT(to_v.bytes() == expected_v.bytes());
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

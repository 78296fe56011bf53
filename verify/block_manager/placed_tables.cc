#include "verify/block_manager/placed_tables.h"

#include <cstddef>
#include <set>
#include <span>
#include <vector>

#include "core/dense_kv_view.h"
#include "core/random_stream.h"
#include "reference/kv_cache_ops.h"
#include "verify/cases/poison.h"

namespace recto::verify {
namespace {

std::size_t as_size(std::int64_t value) { return static_cast<std::size_t>(value); }

// The slots of all contexts, each once.
std::vector<std::int64_t> addressed_slots(const TableSnapshot& snapshot) {
  std::set<std::int64_t> slots;
  for (std::size_t i = 0; i < snapshot.sequences.size(); ++i) {
    const std::span<const std::int32_t> blocks = snapshot.reached(i);
    for (std::int64_t token = 0; token < snapshot.sequences[i].context_length; ++token) {
      const std::int64_t block = blocks[as_size(token / snapshot.block_size)];
      slots.insert(block * snapshot.block_size + token % snapshot.block_size);
    }
  }
  return {slots.begin(), slots.end()};
}

BatchLayout layout_of(const TableSnapshot& snapshot, const TableCallShape& shape) {
  const KvPoolShape pool = {.layout = shape.layout,
                            .type = shape.kv_type,
                            .num_blocks = snapshot.num_blocks,
                            .block_size = snapshot.block_size,
                            .num_kv_heads = shape.num_kv_heads,
                            .head_dim_k = shape.head_dim,
                            .head_dim_v = shape.head_dim};
  BatchLayout layout = {
      .q = dense_rows<const void*>(nullptr, shape.q_type, 0, shape.num_q_heads, shape.head_dim),
      .kv = as_const(dense_kv_view(pool, nullptr, nullptr).value())};
  for (const TracedSequence& sequence : snapshot.sequences) {
    layout.sequences.push_back({sequence.num_rows, sequence.context_length});
  }
  for (std::int64_t head = 0; is_fp8(pool.type) && head < pool.num_kv_heads; ++head) {
    layout.k_scales.push_back(0.5F / static_cast<float>(head + 1));
  }
  layout.v_scales = layout.k_scales;
  return layout;
}

}  // namespace

Batch place_tables(const TableSnapshot& snapshot, const TableCallShape& shape, Poison poison,
                   std::uint64_t seed) {
  Batch batch(layout_of(snapshot, shape));
  batch.inputs.block_table = snapshot.table();  // the layout has no blocks
  const RandomStream stream(seed);
  RandomStream q_stream = stream.split("q");
  fill_with_units(batch.q, shape.q_type, q_stream);
  for (std::vector<std::byte>* pool : {&batch.pools.k, &batch.pools.v}) {
    fill_with(*pool, PoisonCodes(poison, shape.kv_type, stream));
  }

  const std::vector<std::int64_t> slots = addressed_slots(snapshot);
  const auto new_rows = [&](const char* name, std::vector<std::byte>& memory) {
    memory.resize(as_size(std::ssize(slots) * shape.num_kv_heads * shape.head_dim *
                          element_bytes(shape.q_type)));
    RandomStream rows_stream = stream.split(name);
    fill_with_units(memory, shape.q_type, rows_stream);
    return dense_rows<const void*>(memory.data(), shape.q_type, std::ssize(slots),
                                   shape.num_kv_heads, shape.head_dim);
  };
  std::vector<std::byte> k;
  std::vector<std::byte> v;
  reference::write_kv(
      {.k = new_rows("k", k), .v = new_rows("v", v), .slot_mapping = slots, .kv = batch.kv});
  return batch;
}

}  // namespace recto::verify

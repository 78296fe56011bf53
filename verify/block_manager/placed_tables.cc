#include "verify/block_manager/placed_tables.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <set>

#include "core/dense_kv_view.h"
#include "core/random_stream.h"
#include "reference/kv_cache_ops.h"
#include "reference/rounding.h"

namespace recto::verify {
namespace {

std::size_t as_size(std::int64_t value) { return static_cast<std::size_t>(value); }

template <typename NextValue>
std::vector<std::byte> codes(std::int64_t count, ElementType type, NextValue next) {
  const auto bytes = as_size(element_bytes(type));
  std::vector<std::byte> memory(as_size(count) * bytes);
  for (std::size_t at = 0; at < memory.size(); at += bytes) {
    const std::uint32_t code = reference::encode(next(), type);
    std::memcpy(memory.data() + at, &code, bytes);
  }
  return memory;
}

std::vector<std::byte> random_codes(std::int64_t count, ElementType type, RandomStream stream) {
  return codes(count, type, [&stream] { return 2 * stream.next_unit() - 1; });
}

RowsView dense_rows(const std::vector<std::byte>& memory, ElementType type, std::int64_t num_rows,
                    const TableCallShape& shape, std::int64_t num_heads) {
  return {.data = memory.data(),
          .type = type,
          .num_rows = num_rows,
          .num_heads = num_heads,
          .head_dim = shape.head_dim,
          .row_stride = num_heads * shape.head_dim,
          .head_stride = shape.head_dim};
}

// The slots of all contexts, each once.
std::vector<std::int64_t> addressed_slots(const TableSnapshot& snapshot) {
  std::set<std::int64_t> slots;
  for (const TracedSequence& sequence : snapshot.sequences) {
    for (std::int64_t token = 0; token < sequence.context_length; ++token) {
      const std::int64_t block = sequence.blocks[as_size(token / snapshot.block_size)];
      slots.insert(block * snapshot.block_size + token % snapshot.block_size);
    }
  }
  return {slots.begin(), slots.end()};
}

}  // namespace

PlacedTables::PlacedTables(const TableSnapshot& snapshot, const TableCallShape& shape,
                           UnaddressedSlots unaddressed, std::uint64_t seed) {
  place_tables(snapshot);
  place_pool(snapshot, shape, unaddressed, seed);
  const std::int64_t rows = query_start_.back();
  q_ = random_codes(rows * shape.num_q_heads * shape.head_dim, shape.q_type,
                    RandomStream(seed).split("q"));
  inputs_.q = dense_rows(q_, shape.q_type, rows, shape, shape.num_q_heads);
}

void PlacedTables::place_tables(const TableSnapshot& snapshot) {
  std::size_t longest = 1;
  query_start_.push_back(0);
  for (const TracedSequence& sequence : snapshot.sequences) {
    longest = std::max(longest, sequence.blocks.size());
    query_start_.push_back(query_start_.back() + static_cast<std::int32_t>(sequence.num_rows));
    context_length_.push_back(static_cast<std::int32_t>(sequence.context_length));
  }
  for (const TracedSequence& sequence : snapshot.sequences) {
    block_table_.insert(block_table_.end(), sequence.blocks.begin(), sequence.blocks.end());
    block_table_.resize(block_table_.size() + longest - sequence.blocks.size(), -1);
  }
  inputs_.block_table = {.data = block_table_.data(),
                         .num_seqs = std::ssize(snapshot.sequences),
                         .max_blocks = static_cast<std::int64_t>(longest),
                         .row_stride = static_cast<std::int64_t>(longest)};
  inputs_.query_start = query_start_;
  inputs_.context_length = context_length_;
}

void PlacedTables::place_pool(const TableSnapshot& snapshot, const TableCallShape& shape,
                              UnaddressedSlots unaddressed, std::uint64_t seed) {
  const KvPoolShape pool = {.layout = shape.layout,
                            .type = shape.kv_type,
                            .num_blocks = snapshot.num_blocks,
                            .block_size = snapshot.block_size,
                            .num_kv_heads = shape.num_kv_heads,
                            .head_dim_k = shape.head_dim,
                            .head_dim_v = shape.head_dim};
  const double poison = unaddressed == UnaddressedSlots::kNaN
                            ? std::numeric_limits<double>::quiet_NaN()
                            : std::numeric_limits<double>::infinity();
  const KvPoolElements elements = count_pool_elements(pool).value();
  k_pool_ = codes(elements.k, pool.type, [poison] { return poison; });
  v_pool_ = codes(elements.v, pool.type, [poison] { return poison; });
  MutablePagedKvView kv = dense_kv_view(pool, k_pool_.data(), v_pool_.data()).value();
  if (is_fp8(pool.type)) {
    for (std::int64_t head = 0; head < pool.num_kv_heads; ++head) {
      scales_.push_back(0.5F / static_cast<float>(head + 1));
    }
    kv.k.scale = kv.v.scale = {.kind = ScaleKind::kPerKvHead, .data = scales_.data()};
  }

  const std::vector<std::int64_t> slots = addressed_slots(snapshot);
  const std::int64_t count = std::ssize(slots) * pool.num_kv_heads * shape.head_dim;
  const RandomStream stream(seed);
  const std::vector<std::byte> k = random_codes(count, shape.q_type, stream.split("k"));
  const std::vector<std::byte> v = random_codes(count, shape.q_type, stream.split("v"));
  const auto rows = [&](const std::vector<std::byte>& memory) {
    return dense_rows(memory, shape.q_type, std::ssize(slots), shape, pool.num_kv_heads);
  };
  reference::write_kv({.k = rows(k), .v = rows(v), .slot_mapping = slots, .kv = kv});
  inputs_.kv = as_const(kv);
}

}  // namespace recto::verify

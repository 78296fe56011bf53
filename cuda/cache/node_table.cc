#include "cuda/cache/node_table.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "core/contract.h"

namespace recto::cache {

Result<NodeTable> NodeTable::create(std::int32_t max_nodes) {
  NodeTable table;
  if (max_nodes == 0) return table;
  const std::int64_t capacity = max_nodes + std::int64_t{max_nodes} * 12 / 25 + 1;
  RECTO_RETURN_IF_ERROR(
      table.entries_.allocate(capacity, "entries of the prefix cache's hash table", kEmpty));
  const auto low_bits = [](std::uint32_t bits) { return (1U << bits) - 1; };
  table.id_bits_ =
      static_cast<std::uint32_t>(std::bit_width(static_cast<std::uint32_t>(max_nodes)));
  table.distance_bits_ = std::min(kDistanceBits, 32 - table.id_bits_);
  table.id_mask_ = low_bits(table.id_bits_);
  table.far_ = low_bits(table.distance_bits_);
  table.tag_mask_ = low_bits(32 - table.id_bits_ - table.distance_bits_);
  return table;
}

void NodeTable::insert(const BlockHash& hash, NodeId node) {
  RECTO_CHECK_LT(100 * num_entries_, 69 * entries_.ssize());
  const std::uint64_t mixed = mix(hash.low);
  std::uint32_t entry = label(mixed) << id_bits_ | static_cast<std::uint32_t>(node.value() + 1);
  const std::uint32_t step = 1U << id_bits_;
  std::int64_t at = home(mixed);
  for (; entries_[at] != kEmpty; at = next(at)) {
    if (written_distance(entries_[at]) < written_distance(entry)) std::swap(entries_[at], entry);
    if (written_distance(entry) < far_) entry += step;
  }
  entries_[at] = entry;
  ++num_entries_;
}

void NodeTable::erase(const BlockHash& hash, NodeId node, std::span<const NodeRecord> records) {
  std::int64_t hole = home(mix(hash.low));
  while (node_of(entries_[hole]) != node) {
    RECTO_CHECK_NE(entries_[hole], kEmpty);
    hole = next(hole);
  }
  // Entries after the hole move up, until one is in its home slot.
  const std::uint32_t step = 1U << id_bits_;
  for (std::int64_t at = next(hole); written_distance(entries_[at]) > 0; at = next(at)) {
    std::uint32_t moved = entries_[at];
    const bool is_far = written_distance(moved) == far_ && distance(hole, moved, records) >= far_;
    if (!is_far) moved -= step;
    entries_[hole] = moved;
    hole = at;
  }
  entries_[hole] = kEmpty;
  --num_entries_;
}

void NodeTable::clear() {
  entries_.fill(kEmpty);
  num_entries_ = 0;
}

std::uint32_t NodeTable::distance(std::int64_t at, std::uint32_t entry,
                                  std::span<const NodeRecord> records) const {
  const auto node = static_cast<std::size_t>(node_of(entry).value());
  const std::int64_t begin = home(mix(records[node].hash()));
  return static_cast<std::uint32_t>(at >= begin ? at - begin : at - begin + capacity());
}

}  // namespace recto::cache

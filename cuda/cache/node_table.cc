#include "cuda/cache/node_table.h"

#include <bit>
#include <utility>

#include "core/contract.h"

namespace recto::cache {

Result<NodeTable> NodeTable::create(std::int32_t max_nodes) {
  NodeTable table;
  if (max_nodes == 0) return table;
  const std::uint64_t capacity = std::bit_ceil(2 * static_cast<std::uint64_t>(max_nodes));
  auto entries = FixedArray<Entry>::create(static_cast<std::int64_t>(capacity),
                                           "entries of the prefix cache's hash table");
  if (!entries.is_ok()) return entries.status();
  table.entries_ = std::move(entries).value();
  table.mask_ = capacity - 1;
  table.clear();
  return table;
}

void NodeTable::insert(const BlockHash& hash, NodeId node) {
  RECTO_CHECK_LT(2 * num_entries_, entries_.ssize());
  const std::uint32_t tag = tag_of(hash);
  std::uint64_t at = home_of(tag);
  while (entries_[index(at)].node != kEmpty) ++at;
  entries_[index(at)] = {.tag = tag, .node = node.value()};
  ++num_entries_;
}

void NodeTable::erase(const BlockHash& hash, NodeId node) {
  std::uint64_t hole = home_of(tag_of(hash));
  while (entries_[index(hole)].node != node.value()) {
    RECTO_CHECK_NE(entries_[index(hole)].node, kEmpty);
    ++hole;
  }
  // What stands behind the hole moves into it, unless it would then stand before its home.
  for (std::uint64_t at = hole + 1; entries_[index(at)].node != kEmpty; ++at) {
    const std::uint64_t home = home_of(entries_[index(at)].tag);
    if (((at - home) & mask_) < ((at - hole) & mask_)) continue;
    entries_[index(hole)] = entries_[index(at)];
    hole = at;
  }
  entries_[index(hole)].node = kEmpty;
  --num_entries_;
}

void NodeTable::clear() {
  entries_.fill({.tag = 0, .node = kEmpty});
  num_entries_ = 0;
}

}  // namespace recto::cache

#pragma once

// From the hash of a node to the nodes that have it: open addressing with linear probing, at most
// half full, and nothing left behind by what is removed. O(1), expected; no allocation after
// `create`.

#include <cstdint>

#include "core/status.h"
#include "cuda/cache/block_hash.h"
#include "cuda/cache/cache_ids.h"
#include "cuda/cache/fixed_array.h"

namespace recto::cache {

class NodeTable {
 public:
  static Result<NodeTable> create(std::int32_t max_nodes);
  NodeTable() = default;

  void insert(const BlockHash& hash, NodeId node);
  // The node is in the table under this hash.
  void erase(const BlockHash& hash, NodeId node);
  void clear();

  // Calls visit(node) for nodes that may have this hash, in no particular order, until it returns
  // true.
  template <typename Visit>
  void visit_candidates(const BlockHash& hash, const Visit& visit) const {
    if (entries_.ssize() == 0) return;
    const auto tag = tag_of(hash);
    for (std::uint64_t at = home_of(tag); entries_[index(at)].node != kEmpty; ++at) {
      const Entry& entry = entries_[index(at)];
      if (entry.tag == tag && visit(NodeId(entry.node))) return;
    }
  }

  std::int64_t num_entries() const { return num_entries_; }
  static constexpr std::int64_t bytes_per_entry() { return sizeof(Entry); }
  std::int64_t capacity() const { return entries_.ssize(); }

 private:
  static constexpr std::int32_t kEmpty = -1;

  struct Entry {
    std::uint32_t tag;
    std::int32_t node;
  };

  // Spread once more: masks that make collisions, and salts that differ in high bits, are no reason
  // for long walks through what does not collide.
  static std::uint32_t tag_of(const BlockHash& hash) {
    const std::uint64_t mixed = (hash.low ^ (hash.low >> 32)) * 0x9e37'79b9'7f4a'7c15U;
    return static_cast<std::uint32_t>(mixed >> 32);
  }
  std::uint64_t home_of(std::uint32_t tag) const { return tag; }
  std::int64_t index(std::uint64_t at) const { return static_cast<std::int64_t>(at & mask_); }

  FixedArray<Entry> entries_;  // a power of two of them
  std::uint64_t mask_ = 0;
  std::int64_t num_entries_ = 0;
};

}  // namespace recto::cache

#pragma once

// Maps the hash of a node to the nodes that have it: open addressing with linear probing, at most
// 68 percent full, 4 bytes per entry, no tombstones. Entries further from their home slot come
// first (Robin Hood), so that an unsuccessful search ends early. O(1), expected; no allocation
// after `create`.

#include <cstdint>
#include <span>

#include "core/status.h"
#include "cuda/cache/block_hash.h"
#include "cuda/cache/fixed_array.h"
#include "cuda/cache/handle.h"

namespace recto::cache {

// The part of a node that is read when it is a candidate, packed into 12 bytes.
struct NodeRecord {
  std::uint32_t hash_low[2];  // the hash's low word
  std::int32_t up;            // the node's `up`, see PrefixIndex

  std::uint64_t hash() const { return hash_low[0] | std::uint64_t{hash_low[1]} << 32U; }
  void set_hash(std::uint64_t low) {
    hash_low[0] = static_cast<std::uint32_t>(low);
    hash_low[1] = static_cast<std::uint32_t>(low >> 32U);
  }
};

class NodeTable {
 public:
  static Result<NodeTable> create(std::int32_t max_nodes);
  NodeTable() = default;

  void insert(const BlockHash& hash, NodeId node);
  // The node must be in the table under this hash. If an entry is too far from its home slot to
  // store the distance, the home slot is computed from the node's record; `records` holds the
  // records of all nodes in the table.
  void erase(const BlockHash& hash, NodeId node, std::span<const NodeRecord> records);
  void clear();

  // Calls visit(node) for nodes that may have this hash, in no particular order, until it returns
  // true.
  template <typename Visit>
  void visit_candidates(const BlockHash& hash, const Visit& visit) const {
    if (entries_.ssize() == 0) return;
    const std::uint64_t mixed = mix(hash.low);
    std::uint32_t wanted = label(mixed);
    for (std::int64_t at = home(mixed); entries_[at] != kEmpty; at = next(at)) {
      const std::uint32_t entry = entries_[at];
      const std::uint32_t met = entry >> id_bits_;
      if (met == wanted && visit(node_of(entry))) return;
      if ((met & far_) < (wanted & far_)) return;
      if ((wanted & far_) < far_) ++wanted;
    }
  }

  std::int64_t num_entries() const { return num_entries_; }
  std::int64_t capacity() const { return entries_.ssize(); }
  std::int64_t bytes() const { return entries_.bytes(); }

 private:
  static constexpr std::uint32_t kEmpty = 0;
  // From the low bits up, an entry holds a node's number plus one, in as many bits as nodes need;
  // its distance from its home slot, or far_ if the distance is at least that; and bits of the
  // hash.
  static constexpr std::uint32_t kDistanceBits = 5;

  // Mixes the hash once more, so that masked hashes, and salts that differ in high bits, do not
  // cause long walks through entries that do not collide.
  static std::uint64_t mix(std::uint64_t hash) {
    return (hash ^ (hash >> 32U)) * 0x9e37'79b9'7f4a'7c15U;
  }
  std::int64_t home(std::uint64_t mixed) const {
    return static_cast<std::int64_t>(((mixed >> 32U) * static_cast<std::uint64_t>(capacity())) >>
                                     32U);
  }
  std::int64_t next(std::int64_t at) const { return at + 1 == capacity() ? 0 : at + 1; }
  // The distance and hash bits of an entry in its home slot.
  std::uint32_t label(std::uint64_t mixed) const {
    return (static_cast<std::uint32_t>(mixed) & tag_mask_) << distance_bits_;
  }
  NodeId node_of(std::uint32_t entry) const {
    return NodeId(static_cast<std::int32_t>(entry & id_mask_) - 1);
  }
  std::uint32_t written_distance(std::uint32_t entry) const { return entry >> id_bits_ & far_; }
  // The distance from its home slot that an entry has, or would have, at slot `at`.
  std::uint32_t distance(std::int64_t at, std::uint32_t entry,
                         std::span<const NodeRecord> records) const;

  FixedArray<std::uint32_t> entries_;
  std::uint32_t id_bits_ = 0;
  std::uint32_t id_mask_ = 0;
  std::uint32_t distance_bits_ = 0;
  std::uint32_t far_ = 0;
  std::uint32_t tag_mask_ = 0;
  std::int64_t num_entries_ = 0;
};

static_assert(sizeof(NodeRecord) == 12);

}  // namespace recto::cache

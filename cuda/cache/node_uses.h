#pragma once

// How many users nodes have, and how many pins lead to them: 2 bytes a node, because large counts
// are rare. Counts that do not fit are kept in a side list, which has room for all that are
// possible: a given number of users can give only so many nodes a large count. O(1), or O(list
// length) for nodes in the list; no allocation after `create`.

#include <cstdint>

#include "core/status.h"
#include "cuda/cache/cache_ids.h"
#include "cuda/cache/fixed_array.h"

namespace recto::cache {

// The few nodes whose counts do not fit, in no order.
class CountList {
 public:
  static Result<CountList> create(std::int64_t capacity);
  CountList() = default;

  // The node must be in the list.
  std::int32_t& of(NodeId node) { return entries_[find(node)].count; }
  std::int32_t of(NodeId node) const { return entries_[find(node)].count; }
  void remove(NodeId node) {
    entries_[find(node)] = entries_[size_ - 1];
    --size_;
  }
  // The node must not be in the list, and there must be room.
  void add(NodeId node, std::int32_t count);

  void clear() { size_ = 0; }
  std::int64_t size() const { return size_; }
  std::int64_t bytes() const { return entries_.bytes(); }

 private:
  struct Entry {
    NodeId node;
    std::int32_t count;
  };

  std::int64_t find(NodeId node) const;

  FixedArray<Entry> entries_;
  std::int64_t size_ = 0;
};

class NodeUses {
 public:
  // `most_users`: the most that all nodes together have at any time.
  static Result<NodeUses> create(std::int32_t max_nodes, std::int64_t most_users,
                                 std::int64_t most_pins);
  NodeUses() = default;

  std::int32_t users(NodeId node) const {
    const std::uint16_t count = at(node) & kCountMask;
    return count == kMany ? users_.of(node) : count;
  }
  void add_user(NodeId node);
  // Returns how many are left.
  std::int32_t remove_user(NodeId node);
  // Gives a node that had no users one user, and no pins.
  void open(NodeId node) { at(node) = 1; }

  // Pins that end at the node, plus its pinned children.
  std::int32_t pins(NodeId node) const;
  bool is_pinned(NodeId node) const { return (at(node) & kPinned) != 0; }
  void add_pin(NodeId node);
  void remove_pin(NodeId node);

  // Removes all users and pins. O(nodes).
  void clear();
  std::int64_t bytes() const { return words_.bytes() + users_.bytes() + pins_.bytes(); }

 private:
  static constexpr std::uint16_t kPinned = 1U << 15U;
  static constexpr std::uint16_t kPinnedAgain = 1U << 14U;  // the number of pins is in the list
  static constexpr std::uint16_t kCountMask = kPinnedAgain - 1;
  static constexpr std::uint16_t kMany = kCountMask;  // the number of users is in the list

  std::uint16_t& at(NodeId node) { return words_[node.value()]; }
  std::uint16_t at(NodeId node) const { return words_[node.value()]; }

  FixedArray<std::uint16_t> words_;  // [max_nodes]
  CountList users_;
  CountList pins_;
};

}  // namespace recto::cache

#pragma once

// The identity of content, independent of memory. A node stands for one block's worth of tokens
// after a parent node. The pool knows which physical block of each layer group holds the node's
// content, if any (BlockPool::block_with), by a number for each pair of node and group.
//
// A node lives as long as it has users: children, sequences whose chain ends there, blocks, pins. A
// child keeps its parent alive, so that the parent's number identifies it, and a chain of nodes
// remains valid once it was looked up. A lookup compares the parent's number, the tokens and the
// extra words: equal hashes of different content cost a miss, never a wrong result.
//
//   PrefixIndex index = PrefixIndex::create({.max_nodes = 8, .block_size = 2}).value();
//   const std::vector<TokenId> tokens = {5, 6};
//   const BlockContent content{.tokens = tokens, .extra_words = {}};
//   const NodeId node = *index.insert(index.key(kRoot, content), content);
//   pool.set_content(block, index.content_id(node, 0));
//   index.add_user(node);     // the block
//   index.remove_user(node);  // the inserter; the block remains a user
//   const std::optional<NodeId> found = index.find(index.key(kRoot, content), content).node;
//   const BlockId hit = pool.block_with(index.content_id(*found, 0));
//   pool.forget_content(hit);
//   index.remove_user(node);  // the last user: the node is forgotten
//
// Extra words are rare, and are stored in the places of other nodes: a node with extra words takes
// extra_places() more places.
//
// Lookups cost O(tokens + words), expected; everything else is O(1), except that forgetting a node
// may also forget ancestors, each of which was inserted once. Nothing allocates after `create`.
// Misuse is a broken contract.

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "core/status.h"
#include "core/units.h"
#include "cuda/cache/block_hash.h"
#include "cuda/cache/fixed_array.h"
#include "cuda/cache/handle.h"
#include "cuda/cache/node_table.h"
#include "cuda/cache/prompt.h"

namespace recto::cache {

// The few nodes whose counts do not fit into their words, unordered.
class CountList {
 public:
  Status allocate(std::int64_t capacity) { return entries_.allocate(capacity, "counts of nodes"); }

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

// The number of users of each node, and of pins that lead to it: 2 bytes per node, because large
// counts are rare. Counts that do not fit are in a side list, which has room for all possible ones:
// a given number of users can give only so many nodes a large count. O(1), or O(list length) for
// nodes in the list.
class NodeUses {
 public:
  // `most_users`: the maximum number of users over all nodes at any time.
  static Result<NodeUses> create(std::int32_t max_nodes, std::int64_t most_users,
                                 std::int64_t most_pins);
  NodeUses() = default;

  std::int32_t users(NodeId node) const {
    const std::uint16_t count = at(node) & kCountMask;
    return count == kMany ? users_.of(node) : count;
  }
  void add_user(NodeId node);
  // Returns the number of remaining users.
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

struct PrefixIndexOptions {
  std::int32_t max_nodes = 0;
  std::int32_t num_groups = 1;
  std::int32_t block_size = 16;  // tokens of a node
  std::int64_t max_pins = 0;
  BlockHasher hasher = {};
};

// The content of a node, besides its parent.
struct BlockContent {
  std::span<const TokenId> tokens = {};             // [block_size]
  std::span<const std::uint64_t> extra_words = {};  // [at most kMaxExtraWords]
};

using ExtraWords = std::array<std::uint64_t, kMaxExtraWords>;

class PrefixIndex {
 public:
  // The position of content in the index: its hash, and its parent.
  struct Key {
    BlockHash hash = {};
    NodeId parent = kRoot;
  };
  struct Found {
    std::optional<NodeId> node = {};
    std::int64_t collisions = 0;  // nodes with that hash but other content
  };

  // Invalid input if a size is out of range; exhausted if there is no memory.
  static Result<PrefixIndex> create(const PrefixIndexOptions& options);
  // An index without room for any node.
  PrefixIndex() = default;

  Key key(NodeId parent, const BlockContent& content) const;
  Found find(const Key& key, const BlockContent& content) const;
  // Inserts a node with one user, the caller; nullopt if there is no room. No block has the content
  // yet.
  std::optional<NodeId> insert(const Key& key, const BlockContent& content);
  // The number of places that a node's extra words take besides its own.
  std::int64_t extra_places(std::size_t num_words) const {
    return (kHalves * static_cast<std::int64_t>(num_words) + block_size_ - 1) / block_size_;
  }

  // Adds or removes a user; a node without users is forgotten. Does nothing for kRoot.
  void add_user(NodeId node);
  void remove_user(NodeId node);

  // Adds or removes a pin of a node. A pinned node keeps its ancestors pinned: returns true if the
  // caller must do the same to the parent. The pin is also a user of the node at which it ends; the
  // caller must add or remove that user.
  [[nodiscard]] bool add_pin(NodeId node);
  [[nodiscard]] bool remove_pin(NodeId node);
  bool is_pinned(NodeId node) const { return uses_.is_pinned(node); }
  // Pins that end at the node, plus its pinned children.
  std::int32_t pins(NodeId node) const { return uses_.pins(node); }

  // Forgets all nodes at once, even those in use. O(nodes).
  void clear();

  // Converts a node and a group to their number in the block pool, and back.
  ContentId content_id(NodeId node, std::int32_t group) const {
    return ContentId(node.value() * num_groups_ + group);
  }
  NodeId node_of(ContentId content) const { return NodeId(content.value() / num_groups_); }
  std::int32_t group_of(ContentId content) const { return content.value() % num_groups_; }

  NodeId parent(NodeId node) const;
  // root_hash() for kRoot.
  BlockHash hash(NodeId node) const;
  std::int32_t users(NodeId node) const { return uses_.users(node); }
  bool is_live(NodeId node) const { return users(node) > 0; }
  // Writes extra words, if any, to `words`.
  BlockContent content(NodeId node, ExtraWords& words) const;

  std::int32_t num_nodes() const { return num_nodes_; }
  // Places taken by nodes and by their extra words.
  std::int32_t num_places() const { return num_places_; }
  std::int32_t max_nodes() const { return static_cast<std::int32_t>(nodes_.ssize()); }
  std::int32_t num_groups() const { return num_groups_; }
  std::int32_t block_size() const { return block_size_; }
  const BlockHasher& hasher() const { return hasher_; }
  const NodeTable& table() const { return table_; }
  // The bytes of everything except the tokens, and those of the tokens.
  std::int64_t bytes() const {
    return nodes_.bytes() + high_words_.bytes() + uses_.bytes() + table_.bytes();
  }
  std::int64_t token_bytes() const { return tokens_.bytes(); }

 private:
  static constexpr std::int32_t kHalves = 2;  // a word is as long as two tokens

  // The `up` of a node is its parent or, if the node has extra words, place_to_up() of the first
  // place that stores them, whose `up` continues in the same way. The hash of that place is the
  // number of words; it has no users. The `up` of an unused place is the next unused one.
  static std::int32_t place_to_up(NodeId place) { return -2 - place.value(); }
  static NodeId up_to_place(std::int32_t up) { return NodeId(-2 - up); }
  static bool is_words(std::int32_t up) { return up < kRoot.value(); }

  const NodeRecord& at(NodeId place) const { return nodes_[place.value()]; }
  NodeRecord& at(NodeId place) { return nodes_[place.value()]; }
  std::span<const TokenId> tokens(NodeId place) const {
    return tokens_.all().subspan(static_cast<std::size_t>(place.value()) * tokens_each_,
                                 tokens_each_);
  }
  std::span<TokenId> tokens(NodeId place) {
    return tokens_.all().subspan(static_cast<std::size_t>(place.value()) * tokens_each_,
                                 tokens_each_);
  }
  NodeId take_place();
  void give_back(NodeId place);
  std::int32_t store_words(std::span<const std::uint64_t> words, NodeId parent);
  std::span<const std::uint64_t> read_words(NodeId node, ExtraWords& words) const;
  bool is_behind(NodeId node, NodeId parent, std::span<const std::uint64_t> words) const;
  void link_unused();

  std::int32_t num_groups_ = 1;
  std::int32_t block_size_ = 1;
  std::size_t tokens_each_ = 1;  // block_size
  std::int32_t num_nodes_ = 0;
  std::int32_t num_places_ = 0;
  BlockHasher hasher_;
  NodeId first_unused_ = kRoot;
  FixedArray<NodeRecord> nodes_;          // [max_nodes]
  FixedArray<std::uint64_t> high_words_;  // [max_nodes], of hashes of 128 bits
  FixedArray<TokenId> tokens_;            // [max_nodes, block_size]
  NodeUses uses_;
  NodeTable table_;
};

}  // namespace recto::cache

#pragma once

// The identity of content, apart from memory. A node stands for one block's worth of tokens behind
// a parent node, and says which physical block of each layer group holds it, if any does.
//
// A node lives as long as it has users: children, sequences whose chain ends there, blocks, pins. A
// child keeps its parent alive, so that a node's number is the identity of the parent, and a chain
// of nodes that was walked means what it says. A lookup compares the parent's number, the tokens
// and the extra words: equal hashes of different content cost a miss, never a wrong answer.
//
//   PrefixIndex index = PrefixIndex::create({.max_nodes = 8, .block_size = 2}).value();
//   const std::vector<TokenId> tokens = {5, 6};
//   const BlockContent content{.tokens = tokens, .extra_words = {}};
//   const NodeId node = *index.insert(index.key(kRoot, content), content);
//   index.attach(node, 0, BlockId(3));
//   index.remove_user(node);  // the block is its user now
//   const std::optional<NodeId> found = index.find(index.key(kRoot, content), content).node;
//   index.block(*found, 0);   // 3
//   index.detach(node, 0);    // and without it the node is gone
//
// Lookups cost O(tokens + words), expected; everything else O(1), of which forgetting a node may
// forget its ancestors, each of which was once inserted. Nothing allocates after `create`. Misuse
// is a broken contract.

#include <cstdint>
#include <optional>
#include <span>

#include "core/status.h"
#include "core/units.h"
#include "cuda/cache/block_hash.h"
#include "cuda/cache/cache_ids.h"
#include "cuda/cache/fixed_array.h"
#include "cuda/cache/node_table.h"
#include "cuda/cache/prompt.h"

namespace recto::cache {

struct PrefixIndexOptions {
  std::int32_t max_nodes = 0;
  std::int32_t num_groups = 1;
  std::int32_t block_size = 16;  // tokens of a node
  std::int32_t max_words = 0;    // extra words of a node
  BlockHasher hasher = {};
};

// What a node stands for, beside its parent.
struct BlockContent {
  std::span<const TokenId> tokens = {};             // [block_size]
  std::span<const std::uint64_t> extra_words = {};  // [at most max_words]
};

class PrefixIndex {
 public:
  // Where content would stand: its hash, and its parent.
  struct Key {
    BlockHash hash = {};
    NodeId parent = kRoot;
  };
  struct Found {
    std::optional<NodeId> node = {};
    std::int64_t collisions = 0;  // nodes with that hash that are something else
  };

  // Invalid input if a size is not what it can be; exhausted if there is no memory.
  static Result<PrefixIndex> create(const PrefixIndexOptions& options);
  // An index without room for any node.
  PrefixIndex() = default;

  Key key(NodeId parent, const BlockContent& content) const;
  Found find(const Key& key, const BlockContent& content) const;
  // A new node, with one user: the caller. None if there is no room. The content is not there yet.
  std::optional<NodeId> insert(const Key& key, const BlockContent& content);

  // A user more or fewer; without any, the node is forgotten. Nothing is done for kRoot.
  void add_user(NodeId node);
  void remove_user(NodeId node);

  // The block that holds the node's tokens for a group, or kNoBlock.
  BlockId block(NodeId node, std::int32_t group) const {
    return blocks_[content_id(node, group).value()];
  }
  // A block is a user.
  void attach(NodeId node, std::int32_t group, BlockId block);
  void detach(NodeId node, std::int32_t group);

  // How many pins go through the node. A pin's end is a user, too.
  std::int32_t pins(NodeId node) const { return nodes_[node.value()].pins; }
  void add_pin(NodeId node) { ++nodes_[node.value()].pins; }
  void remove_pin(NodeId node) { --nodes_[node.value()].pins; }

  // Forgets everything at once, whoever uses it. O(nodes).
  void clear();

  // The name of (node, group) for the block pool, and back.
  ContentId content_id(NodeId node, std::int32_t group) const {
    return ContentId(node.value() * num_groups_ + group);
  }
  NodeId node_of(ContentId content) const { return NodeId(content.value() / num_groups_); }
  std::int32_t group_of(ContentId content) const { return content.value() % num_groups_; }

  NodeId parent(NodeId node) const { return nodes_[node.value()].parent; }
  // root_hash() of kRoot.
  BlockHash hash(NodeId node) const;
  std::int32_t users(NodeId node) const { return nodes_[node.value()].users; }
  bool is_live(NodeId node) const { return users(node) > 0; }
  BlockContent content(NodeId node) const;

  std::int32_t num_nodes() const { return num_nodes_; }
  std::int32_t max_nodes() const { return static_cast<std::int32_t>(nodes_.ssize()); }
  std::int32_t num_groups() const { return num_groups_; }
  std::int32_t block_size() const { return block_size_; }
  std::int32_t max_words() const { return max_words_; }
  const BlockHasher& hasher() const { return hasher_; }
  const NodeTable& table() const { return table_; }
  // All that it holds for a node, its share of the table included.
  std::int64_t bytes_per_node() const;

 private:
  struct Node {
    BlockHash hash;
    NodeId parent;
    std::int32_t users;  // 0: not in use; `parent` is then the next such node
    std::int32_t pins;
    std::int32_t num_words;
  };

  void link_unused();
  std::int64_t first_token(NodeId node) const { return std::int64_t{node.value()} * block_size_; }
  std::int64_t first_word(NodeId node) const { return std::int64_t{node.value()} * max_words_; }

  std::int32_t num_groups_ = 1;
  std::int32_t block_size_ = 1;
  std::int32_t max_words_ = 0;
  std::int32_t num_nodes_ = 0;
  BlockHasher hasher_;
  NodeId first_unused_ = kRoot;
  FixedArray<Node> nodes_;           // [max_nodes]
  FixedArray<BlockId> blocks_;       // [max_nodes, num_groups]
  FixedArray<TokenId> tokens_;       // [max_nodes, block_size]
  FixedArray<std::uint64_t> words_;  // [max_nodes, max_words]
  NodeTable table_;
};

}  // namespace recto::cache

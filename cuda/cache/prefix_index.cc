#include "cuda/cache/prefix_index.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "core/contract.h"

namespace recto::cache {
namespace {

Status check_size(const char* name, std::int64_t value, std::int64_t least, std::int64_t most) {
  if (value >= least && value <= most) return Status::ok();
  return Status::invalid_input("prefix index: " + std::string(name) + " = " +
                               std::to_string(value) + "; expected " + std::to_string(least) +
                               " to " + std::to_string(most));
}

template <typename T>
Status make(FixedArray<T>& array, std::int64_t size, const char* what) {
  Result<FixedArray<T>> made = FixedArray<T>::create(size, what);
  if (made.is_ok()) array = std::move(made).value();
  return made.status();
}

// In words as wide as there are: std::ranges::equal over spans goes one by one.
bool is_same(std::span<const TokenId> a, std::span<const TokenId> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

}  // namespace

Result<PrefixIndex> PrefixIndex::create(const PrefixIndexOptions& options) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  RECTO_RETURN_IF_ERROR(check_size("num_groups", options.num_groups, 1, kMost));
  RECTO_RETURN_IF_ERROR(check_size("max_nodes", options.max_nodes, 0, kMost / options.num_groups));
  RECTO_RETURN_IF_ERROR(check_size("block_size", options.block_size, 1, kMost));
  RECTO_RETURN_IF_ERROR(check_size("max_words", options.max_words, 0, kMaxExtraWords));
  PrefixIndex index;
  const std::int64_t nodes = options.max_nodes;
  RECTO_RETURN_IF_ERROR(make(index.nodes_, nodes, "nodes of the prefix cache"));
  RECTO_RETURN_IF_ERROR(make(index.blocks_, nodes * options.num_groups, "blocks of nodes"));
  RECTO_RETURN_IF_ERROR(make(index.tokens_, nodes * options.block_size, "tokens of nodes"));
  RECTO_RETURN_IF_ERROR(make(index.words_, nodes * options.max_words, "extra words of nodes"));
  Result<NodeTable> table = NodeTable::create(options.max_nodes);
  if (!table.is_ok()) return table.status();
  index.table_ = std::move(table).value();
  index.num_groups_ = options.num_groups;
  index.block_size_ = options.block_size;
  index.max_words_ = options.max_words;
  index.hasher_ = options.hasher;
  index.link_unused();
  return index;
}

void PrefixIndex::link_unused() {
  first_unused_ = kRoot;
  for (std::int32_t id = max_nodes() - 1; id >= 0; --id) {
    nodes_[id] = {.hash = {}, .parent = first_unused_, .users = 0, .pins = 0, .num_words = 0};
    first_unused_ = NodeId(id);
  }
  num_nodes_ = 0;
}

BlockHash PrefixIndex::hash(NodeId node) const {
  return node == kRoot ? root_hash() : nodes_[node.value()].hash;
}

PrefixIndex::Key PrefixIndex::key(NodeId parent, const BlockContent& content) const {
  RECTO_CHECK_EQ(content.tokens.size(), static_cast<std::size_t>(block_size_));
  return {.hash = hasher_(hash(parent), content.tokens, content.extra_words), .parent = parent};
}

PrefixIndex::Found PrefixIndex::find(const Key& key, const BlockContent& content) const {
  Found found;
  table_.visit_candidates(key.hash, [&](NodeId candidate) {
    const Node& node = nodes_[candidate.value()];
    if (node.hash != key.hash) return false;
    const BlockContent known = this->content(candidate);
    if (node.parent == key.parent && is_same(known.tokens, content.tokens) &&
        std::ranges::equal(known.extra_words, content.extra_words)) {
      found.node = candidate;
      return true;
    }
    ++found.collisions;
    return false;
  });
  return found;
}

std::optional<NodeId> PrefixIndex::insert(const Key& key, const BlockContent& content) {
  RECTO_CHECK_LE(content.extra_words.size(), static_cast<std::size_t>(max_words_));
  if (first_unused_ == kRoot) return std::nullopt;
  const NodeId id = first_unused_;
  Node& node = nodes_[id.value()];
  first_unused_ = node.parent;
  ++num_nodes_;
  node = {.hash = key.hash,
          .parent = key.parent,
          .users = 1,
          .pins = 0,
          .num_words = static_cast<std::int32_t>(content.extra_words.size())};
  add_user(key.parent);
  for (std::int32_t group = 0; group < num_groups_; ++group) {
    blocks_[content_id(id, group).value()] = kNoBlock;
  }
  std::ranges::copy(content.tokens, tokens_.all().begin() + first_token(id));
  std::ranges::copy(content.extra_words, words_.all().begin() + first_word(id));
  table_.insert(key.hash, id);
  return id;
}

void PrefixIndex::add_user(NodeId node) {
  if (node != kRoot) ++nodes_[node.value()].users;
}

void PrefixIndex::remove_user(NodeId node) {
  while (node != kRoot) {
    Node& used = nodes_[node.value()];
    RECTO_CHECK_GT(used.users, 0);
    if (--used.users > 0) return;
    const NodeId parent = used.parent;
    table_.erase(used.hash, node);
    used.parent = first_unused_;
    first_unused_ = node;
    --num_nodes_;
    node = parent;
  }
}

void PrefixIndex::attach(NodeId node, std::int32_t group, BlockId block) {
  BlockId& place = blocks_[content_id(node, group).value()];
  RECTO_CHECK_EQ(place, kNoBlock);
  place = block;
  add_user(node);
}

void PrefixIndex::detach(NodeId node, std::int32_t group) {
  BlockId& place = blocks_[content_id(node, group).value()];
  RECTO_CHECK_NE(place, kNoBlock);
  place = kNoBlock;
  remove_user(node);
}

void PrefixIndex::clear() {
  table_.clear();
  link_unused();
}

BlockContent PrefixIndex::content(NodeId node) const {
  return {.tokens = tokens_.all().subspan(static_cast<std::size_t>(first_token(node)),
                                          static_cast<std::size_t>(block_size_)),
          .extra_words =
              words_.all().subspan(static_cast<std::size_t>(first_word(node)),
                                   static_cast<std::size_t>(nodes_[node.value()].num_words))};
}

std::int64_t PrefixIndex::bytes_per_node() const {
  const std::int64_t entries = max_nodes() == 0 ? 0 : table_.capacity() / max_nodes();
  return std::int64_t{sizeof(Node)} + num_groups_ * std::int64_t{sizeof(BlockId)} +
         block_size_ * std::int64_t{sizeof(TokenId)} +
         max_words_ * std::int64_t{sizeof(std::uint64_t)} + entries * NodeTable::bytes_per_entry();
}

}  // namespace recto::cache

#include "cuda/cache/prefix_index.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "core/contract.h"
#include "cuda/cache/message.h"

namespace recto::cache {
namespace {

Status check_size(const char* name, std::int64_t value, std::int64_t least, std::int64_t most) {
  if (value >= least && value <= most) return Status::ok();
  return Status::invalid_input(
      message("prefix index: ", name, " = ", value, "; expected ", least, " to ", most));
}

// The maximum number of sequences and pins at a time.
constexpr std::int64_t kMostChains = std::int64_t{1} << 22U;

// Compares in the widest words available; std::ranges::equal over spans compares one by one.
bool is_same(std::span<const TokenId> a, std::span<const TokenId> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

}  // namespace

std::int64_t CountList::find(NodeId node) const {
  std::int64_t at = 0;
  while (at < size_ && entries_[at].node != node) ++at;
  RECTO_CHECK_LT(at, size_);
  return at;
}

void CountList::add(NodeId node, std::int32_t count) {
  RECTO_CHECK_LT(size_, entries_.ssize());
  entries_[size_++] = {.node = node, .count = count};
}

Result<NodeUses> NodeUses::create(std::int32_t max_nodes, std::int64_t most_users,
                                  std::int64_t most_pins) {
  NodeUses uses;
  RECTO_RETURN_IF_ERROR(uses.words_.allocate(max_nodes, "users of nodes", 0));
  RECTO_RETURN_IF_ERROR(uses.users_.allocate(most_users / kMany));
  RECTO_RETURN_IF_ERROR(uses.pins_.allocate(most_pins));
  return uses;
}

void NodeUses::add_user(NodeId node) {
  std::uint16_t& word = at(node);
  if ((word & kCountMask) == kMany) {
    ++users_.of(node);
    return;
  }
  ++word;
  if ((word & kCountMask) == kMany) users_.add(node, kMany);
}

std::int32_t NodeUses::remove_user(NodeId node) {
  std::uint16_t& word = at(node);
  RECTO_CHECK_GT(word & kCountMask, 0);
  if ((word & kCountMask) == kMany) {
    const std::int32_t left = --users_.of(node);
    if (left >= kMany) return left;
    users_.remove(node);
  }
  --word;
  return word & kCountMask;
}

std::int32_t NodeUses::pins(NodeId node) const {
  if ((at(node) & kPinnedAgain) != 0) return pins_.of(node);
  return is_pinned(node) ? 1 : 0;
}

void NodeUses::add_pin(NodeId node) {
  std::uint16_t& word = at(node);
  if ((word & kPinnedAgain) != 0) {
    ++pins_.of(node);
  } else if ((word & kPinned) != 0) {
    pins_.add(node, 2);
    word |= kPinnedAgain;
  } else {
    word |= kPinned;
  }
}

void NodeUses::remove_pin(NodeId node) {
  std::uint16_t& word = at(node);
  RECTO_CHECK((word & kPinned) != 0);
  if ((word & kPinnedAgain) == 0) {
    word &= static_cast<std::uint16_t>(~kPinned);
  } else if (--pins_.of(node) == 1) {
    pins_.remove(node);
    word &= static_cast<std::uint16_t>(~kPinnedAgain);
  }
}

void NodeUses::clear() {
  words_.fill(0);
  users_.clear();
  pins_.clear();
}

Result<PrefixIndex> PrefixIndex::create(const PrefixIndexOptions& options) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  RECTO_RETURN_IF_ERROR(check_size("num_groups", options.num_groups, 1, kMost));
  RECTO_RETURN_IF_ERROR(check_size("max_nodes", options.max_nodes, 0, kMost / options.num_groups));
  RECTO_RETURN_IF_ERROR(check_size("block_size", options.block_size, 1, kMost));
  RECTO_RETURN_IF_ERROR(check_size("max_pins", options.max_pins, 0, kMost));
  PrefixIndex index;
  const std::int64_t nodes = options.max_nodes;
  RECTO_RETURN_IF_ERROR(index.nodes_.allocate(nodes, "nodes of the prefix cache"));
  RECTO_RETURN_IF_ERROR(index.tokens_.allocate(nodes * options.block_size, "tokens of nodes"));
  if (options.hasher.width == HashWidth::k128) {
    RECTO_RETURN_IF_ERROR(index.high_words_.allocate(nodes, "high words of nodes' hashes"));
  }
  // Users are children, blocks, and sequences and pins; nodes do not distinguish them.
  const std::int64_t most_users = nodes + nodes * options.num_groups + kMostChains;
  RECTO_RETURN_IF_ERROR(
      keep(index.uses_, NodeUses::create(options.max_nodes, most_users, options.max_pins)));
  RECTO_RETURN_IF_ERROR(keep(index.table_, NodeTable::create(options.max_nodes)));
  index.num_groups_ = options.num_groups;
  index.block_size_ = options.block_size;
  index.tokens_each_ = static_cast<std::size_t>(options.block_size);
  index.hasher_ = options.hasher;
  index.link_unused();
  return index;
}

void PrefixIndex::link_unused() {
  first_unused_ = kRoot;
  for (std::int32_t id = max_nodes() - 1; id >= 0; --id) {
    nodes_[id].up = first_unused_.value();
    first_unused_ = NodeId(id);
  }
  num_nodes_ = 0;
  num_places_ = 0;
}

NodeId PrefixIndex::parent(NodeId node) const {
  std::int32_t up = at(node).up;
  while (is_words(up)) up = at(up_to_place(up)).up;
  return NodeId(up);
}

BlockHash PrefixIndex::hash(NodeId node) const {
  if (node == kRoot) return root_hash();
  return {.low = at(node).hash(), .high = high_words_.ssize() == 0 ? 0 : high_words_[node.value()]};
}

PrefixIndex::Key PrefixIndex::key(NodeId parent, const BlockContent& content) const {
  RECTO_CHECK_EQ(content.tokens.size(), tokens_each_);
  return {.hash = hasher_(hash(parent), content.tokens, content.extra_words), .parent = parent};
}

PrefixIndex::Found PrefixIndex::find(const Key& key, const BlockContent& content) const {
  Found found;
  table_.visit_candidates(key.hash, [&](NodeId candidate) {
    if (hash(candidate) != key.hash) return false;
    if (is_behind(candidate, key.parent, content.extra_words) &&
        is_same(tokens(candidate), content.tokens)) {
      found.node = candidate;
      return true;
    }
    ++found.collisions;
    return false;
  });
  return found;
}

bool PrefixIndex::is_behind(NodeId node, NodeId parent,
                            std::span<const std::uint64_t> words) const {
  const std::int32_t up = at(node).up;
  if (words.empty() || !is_words(up)) return words.empty() && up == parent.value();
  ExtraWords known;
  return std::ranges::equal(read_words(node, known), words) && this->parent(node) == parent;
}

std::optional<NodeId> PrefixIndex::insert(const Key& key, const BlockContent& content) {
  RECTO_CHECK_LE(content.extra_words.size(), kMaxExtraWords);
  if (max_nodes() - num_places_ < 1 + extra_places(content.extra_words.size())) return std::nullopt;
  const NodeId id = take_place();
  at(id).set_hash(key.hash.low);
  at(id).up = store_words(content.extra_words, key.parent);
  if (high_words_.ssize() > 0) high_words_[id.value()] = key.hash.high;
  ++num_nodes_;
  uses_.open(id);
  add_user(key.parent);
  std::ranges::copy(content.tokens, tokens(id).begin());
  table_.insert(key.hash, id);
  return id;
}

NodeId PrefixIndex::take_place() {
  const NodeId place = first_unused_;
  first_unused_ = NodeId(at(place).up);
  ++num_places_;
  return place;
}

void PrefixIndex::give_back(NodeId place) {
  at(place).up = first_unused_.value();
  first_unused_ = place;
  --num_places_;
}

// Returns the value for the node's `up`. Stores the last words first, because each place links to
// the next.
std::int32_t PrefixIndex::store_words(std::span<const std::uint64_t> words, NodeId parent) {
  std::int32_t up = parent.value();
  const std::int64_t halves = kHalves * std::ssize(words);
  for (std::int64_t index = extra_places(words.size()) - 1; index >= 0; --index) {
    const NodeId place = take_place();
    const std::int64_t begin = index * block_size_;
    for (std::int64_t i = begin; i < std::min(halves, begin + block_size_); ++i) {
      const std::uint64_t word = words[static_cast<std::size_t>(i / kHalves)];
      tokens(place)[static_cast<std::size_t>(i - begin)] =
          static_cast<TokenId>(i % kHalves == 0 ? word : word >> 32U);
    }
    at(place).set_hash(words.size());
    at(place).up = up;
    up = place_to_up(place);
  }
  return up;
}

std::span<const std::uint64_t> PrefixIndex::read_words(NodeId node, ExtraWords& words) const {
  std::int32_t up = at(node).up;
  if (!is_words(up)) return {};
  const auto count = static_cast<std::size_t>(at(up_to_place(up)).hash());
  std::int64_t i = 0;
  for (; is_words(up); up = at(up_to_place(up)).up) {
    for (const TokenId half : tokens(up_to_place(up))) {
      if (i == kHalves * static_cast<std::int64_t>(count)) break;
      std::uint64_t& word = words[static_cast<std::size_t>(i / kHalves)];
      const std::uint64_t bits = static_cast<std::uint32_t>(half);
      word = i % kHalves == 0 ? bits : word | bits << 32U;
      ++i;
    }
  }
  return std::span(words).first(count);
}

void PrefixIndex::add_user(NodeId node) {
  if (node != kRoot) uses_.add_user(node);
}

void PrefixIndex::remove_user(NodeId node) {
  while (node != kRoot) {
    if (uses_.remove_user(node) > 0) return;
    table_.erase(hash(node), node, nodes_.all());
    std::int32_t up = at(node).up;
    give_back(node);
    --num_nodes_;
    while (is_words(up)) {
      const NodeId place = up_to_place(up);
      up = at(place).up;
      give_back(place);
    }
    node = NodeId(up);
  }
}

bool PrefixIndex::add_pin(NodeId node) {
  const bool was_pinned = is_pinned(node);
  uses_.add_pin(node);
  return !was_pinned;
}

bool PrefixIndex::remove_pin(NodeId node) {
  uses_.remove_pin(node);
  return !is_pinned(node);
}

void PrefixIndex::clear() {
  table_.clear();
  uses_.clear();
  link_unused();
}

BlockContent PrefixIndex::content(NodeId node, ExtraWords& words) const {
  return {.tokens = tokens(node), .extra_words = read_words(node, words)};
}

}  // namespace recto::cache

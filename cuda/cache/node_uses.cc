#include "cuda/cache/node_uses.h"

#include <utility>

#include "core/contract.h"

namespace recto::cache {

Result<CountList> CountList::create(std::int64_t capacity) {
  auto entries = FixedArray<Entry>::create(capacity, "counts of nodes");
  if (!entries.is_ok()) return entries.status();
  CountList list;
  list.entries_ = std::move(entries).value();
  return list;
}

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
  auto words = FixedArray<std::uint16_t>::create(max_nodes, "users of nodes", 0);
  if (!words.is_ok()) return words.status();
  auto users = CountList::create(most_users / kMany);
  if (!users.is_ok()) return users.status();
  auto pins = CountList::create(most_pins);
  if (!pins.is_ok()) return pins.status();
  uses.words_ = std::move(words).value();
  uses.users_ = std::move(users).value();
  uses.pins_ = std::move(pins).value();
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

}  // namespace recto::cache

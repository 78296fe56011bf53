#include "cuda/cache/prefix_cache.h"

#include <algorithm>
#include <array>

#include "cuda/cache/message.h"

namespace recto::cache {

Status PrefixCache::allocate() {
  RECTO_RETURN_IF_ERROR(keep(
      index_, PrefixIndex::create({.max_nodes = max_nodes(options_),
                                   .num_groups = geometry_.num_groups(),
                                   .block_size = static_cast<std::int32_t>(geometry_.block_size()),
                                   .max_pins = options_.prefix.max_pins,
                                   .hasher = options_.prefix.hasher})));
  return pins_.allocate(options_.prefix.max_pins, "pins");
}

PrefixMatch PrefixCache::match(const Prompt& prompt, std::int64_t max_blocks) const {
  PrefixMatch match;
  if (!is_on()) return match;
  // By group: the first of the consecutive blocks found present up to the current one.
  std::array<std::int64_t, kMaxLayerGroups> present_from;
  std::fill_n(present_from.begin(), geometry_.num_groups(), 0);
  PromptReader reader(options_, prompt);
  NodeId node = kRoot;
  for (std::int64_t block = 0; block < max_blocks && reader.next(node); ++block) {
    const PrefixIndex::Found found = index_.find(reader.key(), reader.content());
    match.collisions += found.collisions;
    if (!found.node) break;
    node = *found.node;
    const std::int64_t length = (block + 1) * geometry_.block_size();
    bool is_enough = true;
    for (std::int32_t group = 0; group < geometry_.num_groups(); ++group) {
      std::int64_t& from = present_from[static_cast<std::size_t>(group)];
      if (block_with(node, group) == kNoBlock) {
        if (!geometry_.has_window(group)) return match;  // required for any longer prefix
        from = block + 1;
      }
      if (from > geometry_.first_needed(group, length)) is_enough = false;
    }
    if (!is_enough) continue;
    match.end = node;
    match.blocks = static_cast<std::int32_t>(block + 1);
  }
  return match;
}

// Visits from the end to the start, because nodes know their parents.
template <typename Visit>
void PrefixCache::visit_match(const PrefixMatch& match, const Visit& visit) const {
  const std::int64_t length = match.blocks * geometry_.block_size();
  NodeId node = match.end;
  for (std::int64_t block = match.blocks - 1; block >= 0; --block) {
    for (std::int32_t group = 0; group < geometry_.num_groups(); ++group) {
      if (block < geometry_.first_needed(group, length)) continue;
      visit(group, block, block_with(node, group));
    }
    node = index_.parent(node);
  }
}

std::int64_t PrefixCache::count_evictable(const PrefixMatch& match) const {
  std::int64_t evictable = 0;
  visit_match(match, [&](std::int32_t, std::int64_t, BlockId found) {
    if (device_.pool().state(found) == BlockState::kEvictable) ++evictable;
  });
  return evictable;
}

BlockId PrefixCache::take(const TablePlace& place) {
  const BlockPool::Allocation given = device_.take(place);
  if (given.evicted != kNoContent) {
    ++statistics_.evicted;
    unpublish(given.evicted, given.block);
  }
  return given.block;
}

void PrefixCache::take_until(std::int32_t sequence, std::int64_t blocks) {
  std::int32_t& held = device_.row(sequence).blocks;
  for (; held < blocks; ++held) {
    for (std::int32_t group = 0; group < geometry_.num_groups(); ++group) {
      take({sequence, group, held});
    }
  }
}

void PrefixCache::adopt(std::int32_t sequence, const Prompt& prompt, const PrefixMatch& match) {
  Sequence& mine = sequences_[sequence];
  const std::int64_t hit = match.blocks * geometry_.block_size();
  sequences_.details(sequence).keys = prompt.keys;
  sequences_.details(sequence).publishing = PrefixCaching::kOn;
  mine.device.length = hit;
  for (std::int32_t group = 0; group < geometry_.num_groups(); ++group) {
    device_.begin_row(sequence, group, geometry_.first_needed(group, hit));
  }
  visit_match(match, [&](std::int32_t group, std::int64_t block, BlockId found) {
    device_.adopt({sequence, group, block}, found);
  });
  mine.device.blocks = match.blocks;
  mine.chain = {.published = match.blocks, .end = match.end, .committed = match.blocks};
  index_.add_user(match.end);
  if (!is_on()) return;
  ++statistics_.queries;
  statistics_.query_tokens += std::ssize(prompt.tokens.ids);
  statistics_.hit_tokens += hit;
  statistics_.collisions += match.collisions;
}

void PrefixCache::forget(BlockId block) {
  drop_content(block);
  device_.pool().mark_even(block);
  ++statistics_.overwritten;
}

void PrefixCache::drop_content(BlockId block) {
  const ContentId content = device_.pool().content(block);
  device_.forget(block);
  unpublish(content, block);
}

void PrefixCache::unpublish(ContentId content, BlockId block) {
  const NodeId node = index_.node_of(content);
  if (options_.events != nullptr) {
    options_.events->on_removed(
        {.hash = index_.hash(node), .group = index_.group_of(content), .block = block});
  }
  index_.remove_user(node);
}

void PrefixCache::give_back(std::int32_t sequence) {
  Sequence& mine = sequences_[sequence];
  cut_chain(sequence, 0);
  sequences_.log().add(sequence, 0, mine.device.blocks);
  device_.drop_behind(sequence, 0);
  mine.device.length = 0;
  mine.run_end = 0;
}

void PrefixCache::commit(std::int32_t sequence, const Tokens& tokens) {
  Chain& chain = sequences_[sequence].chain;
  const std::int64_t full = geometry_.full_blocks(device_.row(sequence).length);
  if (full <= chain.committed) return;
  chain.committed = static_cast<std::int32_t>(full);
  const SequenceDetails& details = sequences_.details(sequence);
  if (!is_on() || details.publishing == PrefixCaching::kOff) return;
  const Prompt prompt{.tokens = tokens, .keys = details.keys, .hashes = {}};
  PromptReader reader(options_, prompt, chain.published, index_.hash(chain.end));
  while (chain.published < full) {
    if (!reader.next(chain.end)) {
      ++statistics_.too_many_items;
      return;
    }
    const std::optional<NodeId> node = next_node(reader.key(), reader.content());
    if (!node) {
      ++statistics_.no_node;
      return;
    }
    for (std::int32_t group = 0; group < geometry_.num_groups(); ++group) {
      attach({sequence, group, chain.published}, *node);
    }
    index_.remove_user(chain.end);
    chain.end = *node;
    ++chain.published;
  }
}

// Finds or makes the node for the content that follows a chain, evicting the least recently used
// content if the index is full; the caller becomes a user of it.
std::optional<NodeId> PrefixCache::next_node(const PrefixIndex::Key& key,
                                             const BlockContent& content) {
  const PrefixIndex::Found found = index_.find(key, content);
  statistics_.collisions += found.collisions;
  if (found.node) {
    index_.add_user(*found.node);
    return found.node;
  }
  std::optional<NodeId> node = index_.insert(key, content);
  while (!node && device_.pool().evictable() > BlockCount(0)) {
    drop_content(device_.pool().oldest_evictable());
    ++statistics_.evicted;
    ++statistics_.evicted_for_nodes;
    node = index_.insert(key, content);
  }
  return node;
}

// Makes the block findable under the node's content, unless another block already has this content,
// or this block has other content.
void PrefixCache::attach(const TablePlace& place, NodeId node) {
  if (place.block < device_.first(place.sequence, place.group)) return;
  const BlockId block = device_.block(place);
  const BlockId known = block_with(node, place.group);
  if (known == block) return;
  if (known != kNoBlock || device_.pool().content(block) != kNoContent) {
    ++statistics_.duplicates;
    return;
  }
  device_.publish(place, index_.content_id(node, place.group));
  index_.add_user(node);
  if (index_.is_pinned(node)) device_.pin(block);
  ++statistics_.stored;
  if (options_.events == nullptr) return;
  ExtraWords words;
  const BlockContent content = index_.content(node, words);
  options_.events->on_stored({.hash = index_.hash(node),
                              .parent_hash = index_.hash(index_.parent(node)),
                              .tokens = content.tokens,
                              .extra_words = content.extra_words,
                              .group = place.group,
                              .block = block});
}

void PrefixCache::cut_chain(std::int32_t sequence, std::int64_t blocks) {
  Chain& chain = sequences_[sequence].chain;
  chain.committed = static_cast<std::int32_t>(std::min<std::int64_t>(chain.committed, blocks));
  if (chain.published <= blocks) return;
  NodeId end = chain.end;
  for (std::int64_t known = chain.published; known > blocks; --known) end = index_.parent(end);
  index_.add_user(end);
  index_.remove_user(chain.end);
  chain.end = end;
  chain.published = static_cast<std::int32_t>(blocks);
}

void PrefixCache::share_chain(std::int32_t parent, std::int32_t child) {
  sequences_[child].chain = sequences_[parent].chain;
  index_.add_user(sequences_[child].chain.end);
  sequences_.details(child) = sequences_.details(parent);
}

template <typename Visit>
void PrefixCache::visit_blocks(NodeId node, const Visit& visit) const {
  for (std::int32_t group = 0; group < geometry_.num_groups(); ++group) {
    const BlockId block = block_with(node, group);
    if (block != kNoBlock) visit(block);
  }
}

// Includes the last block: its last token need not be computed.
Result<Pin> PrefixCache::pin(const Prompt& prompt) {
  RECTO_RETURN_IF_ERROR(check_tokens(prompt.tokens));
  const std::int64_t length = std::ssize(prompt.tokens.ids);
  const PrefixMatch found = match(prompt, geometry_.full_blocks(length));
  if (found.blocks == 0) {
    return Status::invalid_input(message("no block of these ", length, " tokens is cached"));
  }
  if (pins_.is_full()) return Status::exhausted(message("all ", pins_.size(), " pins are in use"));
  for (NodeId node = found.end; node != kRoot; node = index_.parent(node)) {
    if (!index_.add_pin(node)) break;
    visit_blocks(node, [&](BlockId block) { device_.pin(block); });
  }
  index_.add_user(found.end);
  statistics_.collisions += found.collisions;
  return Pin{.handle = pins_.open(found.end),
             .length = TokenCount(found.blocks * geometry_.block_size())};
}

// Releases the end first, so that it is evicted before the start.
Status PrefixCache::unpin(PinHandle pin) {
  const std::optional<NodeId> end = pins_.find(pin);
  if (!end) {
    return Status::invalid_input(
        message("pin ", pin, " is unknown: unpinned before, or dropped by a reset"));
  }
  for (NodeId node = *end; node != kRoot; node = index_.parent(node)) {
    if (!index_.remove_pin(node)) break;
    visit_blocks(node, [&](BlockId block) { device_.unpin(block); });
  }
  index_.remove_user(*end);
  pins_.close(pin.index);
  return Status::ok();
}

void PrefixCache::reset() {
  for (std::int32_t id = 0; id < index_.max_nodes(); ++id) {
    if (!index_.is_live(NodeId(id))) continue;
    visit_blocks(NodeId(id), [&](BlockId block) {
      device_.forget(block);
      ++statistics_.cleared;
    });
  }
  index_.clear();
  pins_.visit_used([&](std::int32_t index, NodeId) { pins_.close(index); });
  for (std::int32_t index = 0; index < sequences_.used_end(); ++index) {
    Chain& chain = sequences_[index].chain;
    chain = {.published = 0, .end = kRoot, .committed = chain.committed};
    sequences_.details(index).publishing = PrefixCaching::kOff;
  }
  if (options_.events != nullptr) options_.events->on_cleared();
}

}  // namespace recto::cache

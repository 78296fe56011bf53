#include "cuda/cache/publication.h"

#include <optional>
#include <string>

#include "cuda/cache/content_reader.h"

namespace recto::cache {
namespace {

// From now on, this block of a group has the node's content, unless another block has it already or
// this one is known for other content.
void attach(CacheCore& core, const TablePlace& place, NodeId node) {
  if (place.block < core.device.tables().first(place.sequence, place.group)) return;
  const BlockId block = core.device.block(place);
  const BlockId known = core.block_with(node, place.group);
  if (known == block) return;
  if (known != kNoBlock || core.device.pool().content(block) != kNoContent) {
    ++core.statistics.duplicates;
    return;
  }
  core.device.publish(place, core.index.content_id(node, place.group));
  core.index.add_user(node);
  if (core.index.is_pinned(node)) core.device.pin(block);
  ++core.statistics.stored;
  if (core.options.events == nullptr) return;
  ExtraWords words;
  const BlockContent content = core.index.content(node, words);
  core.options.events->on_stored({.hash = core.index.hash(node),
                                  .parent_hash = core.index.hash(core.index.parent(node)),
                                  .tokens = content.tokens,
                                  .extra_words = content.extra_words,
                                  .group = place.group,
                                  .block = block});
}

// Makes a node, evicting the least recently used content if the index is full.
std::optional<NodeId> make_node(CacheCore& core, const PrefixIndex::Key& key,
                                const BlockContent& content) {
  std::optional<NodeId> node = core.index.insert(key, content);
  while (!node && core.device.pool().evictable() > BlockCount(0)) {
    core.evict_oldest();
    ++core.statistics.evicted_for_nodes;
    node = core.index.insert(key, content);
  }
  return node;
}

// Finds or makes the node for the content that follows a chain; the caller becomes a user of it.
std::optional<NodeId> next_node(CacheCore& core, NodeId chain, const BlockContent& content) {
  const PrefixIndex::Key key = core.index.key(chain, content);
  const PrefixIndex::Found found = core.index.find(key, content);
  core.statistics.collisions += found.collisions;
  if (!found.node) return make_node(core, key, content);
  core.index.add_user(*found.node);
  return found.node;
}

// Adds the next block of a sequence to its chain. False if that is not possible.
bool publish_next(CacheCore& core, std::int32_t sequence, ContentReader& reader) {
  Sequence& mine = core.sequences[sequence];
  if (!reader.read(mine.published, core.geometry.block_size())) {
    ++core.statistics.too_many_items;
    return false;
  }
  const std::optional<NodeId> node = next_node(core, mine.chain, reader.content());
  if (!node) {
    ++core.statistics.no_node;
    return false;
  }
  for (std::int32_t group = 0; group < core.geometry.num_groups(); ++group) {
    attach(core, {sequence, group, mine.published}, *node);
  }
  core.index.remove_user(mine.chain);
  mine.chain = *node;
  ++mine.published;
  return true;
}

}  // namespace

Status commit(CacheCore& core, SequenceHandle sequence, const Tokens& tokens) {
  const Result<std::int32_t> index = core.sequences.find_running(sequence);
  if (!index.is_ok()) return index.status();
  Sequence& mine = core.sequences[index.value()];
  if (std::ssize(tokens.ids) < mine.device.length) {
    return Status::invalid_input(std::to_string(tokens.ids.size()) +
                                 " token ids; expected at least those of the context of " +
                                 std::to_string(mine.device.length));
  }
  RECTO_RETURN_IF_ERROR(check_tokens(tokens));
  const std::int64_t full = core.geometry.full_blocks(mine.device.length);
  if (full <= mine.committed) return Status::ok();
  mine.committed = static_cast<std::int32_t>(full);
  const SequenceDetails& details = core.sequences.details(index.value());
  if (!core.is_caching() || details.publishing == PrefixCaching::kOff) return Status::ok();
  ContentReader reader(tokens, details.keys, core.options.prefix.max_items_per_block);
  while (mine.published < full && publish_next(core, index.value(), reader)) {
  }
  return Status::ok();
}

}  // namespace recto::cache

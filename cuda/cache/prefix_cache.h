#pragma once

// The device's blocks as a prefix cache: which content can be found in them, publication by
// sequences, pins, and eviction.

#include <cstdint>
#include <optional>

#include "core/status.h"
#include "cuda/cache/block_manager.h"
#include "cuda/cache/cache_events.h"
#include "cuda/cache/cache_geometry.h"
#include "cuda/cache/holdings.h"
#include "cuda/cache/prefix_index.h"
#include "cuda/cache/prompt_reader.h"
#include "cuda/cache/sequence_table.h"
#include "cuda/cache/slot_table.h"

namespace recto::cache {

// The longest prefix of a prompt for which every group has the blocks that the next row sees.
struct PrefixMatch {
  NodeId end = kRoot;  // its last node; those before are its ancestors
  std::int32_t blocks = 0;
  std::int64_t collisions = 0;
};

class PrefixCache {
 public:
  // All must outlive it.
  PrefixCache(const CacheOptions& options, const CacheGeometry& geometry, SequenceTable& sequences,
              Holdings& device)
      : options_(options), geometry_(geometry), sequences_(sequences), device_(device) {}
  PrefixCache(const PrefixCache&) = delete;
  PrefixCache& operator=(const PrefixCache&) = delete;
  Status allocate();

  // ---- Lookups.

  // Looks only at the prompt's first `max_blocks` blocks; its tokens must pass check_tokens.
  // O(blocks * groups), plus hashing them, up to the first miss.
  PrefixMatch match(const Prompt& prompt, std::int64_t max_blocks) const;
  // The number of a match's blocks without a holder, which eviction could also free.
  std::int64_t count_evictable(const PrefixMatch& match) const;

  // ---- Blocks of sequences.

  // Takes a new block. Content evicted for it can no longer be found.
  BlockId take(const TablePlace& place);
  // Takes new blocks in all groups, after the sequence's blocks, up to `blocks` logical blocks.
  void take_until(std::int32_t sequence, std::int64_t blocks);
  // Gives a running sequence that holds nothing the blocks of a match of its prompt.
  void adopt(std::int32_t sequence, const Prompt& prompt, const PrefixMatch& match);
  // Makes the block's content unfindable, because its only holder is about to write to it.
  void forget(BlockId block);
  // Gives back all blocks that a sequence holds on the device. O(blocks * groups).
  void give_back(std::int32_t sequence);

  // ---- A sequence's chain in the index: the nodes of its published blocks.

  // As BlockManager::commit, for tokens that pass check_tokens.
  void commit(std::int32_t sequence, const Tokens& tokens);
  // Cuts the chain to its first `blocks` blocks, if it is longer. O(blocks cut off).
  void cut_chain(std::int32_t sequence, std::int64_t blocks);
  void share_chain(std::int32_t parent, std::int32_t child);

  // ---- As BlockManager's members.

  Result<Pin> pin(const Prompt& prompt);
  Status unpin(PinHandle pin);
  void reset();

  // ---- Inspection.

  // The block that has a node's tokens for a group, or kNoBlock.
  BlockId block_with(NodeId node, std::int32_t group) const {
    return device_.pool().block_with(index_.content_id(node, group));
  }
  const CacheStatistics& statistics() const { return statistics_; }
  const PrefixIndex& index() const { return index_; }
  // By handle: the last pinned node; its ancestors are pinned as well.
  const SlotTable<NodeId, PinHandle>& pins() const { return pins_; }

 private:
  bool is_on() const { return index_.max_nodes() > 0; }
  // Makes the content of a block unfindable.
  void drop_content(BlockId block);
  void unpublish(ContentId content, BlockId block);
  std::optional<NodeId> next_node(const PrefixIndex::Key& key, const BlockContent& content);
  void attach(const TablePlace& place, NodeId node);
  // Calls visit(group, logical block, block) for each block of a match that a row after it needs.
  template <typename Visit>
  void visit_match(const PrefixMatch& match, const Visit& visit) const;
  // Calls visit for each block that has the node's content.
  template <typename Visit>
  void visit_blocks(NodeId node, const Visit& visit) const;

  const CacheOptions& options_;
  const CacheGeometry& geometry_;
  SequenceTable& sequences_;
  Holdings& device_;
  PrefixIndex index_;
  SlotTable<NodeId, PinHandle> pins_;
  CacheStatistics statistics_;
};

}  // namespace recto::cache

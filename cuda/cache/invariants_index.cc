#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "cuda/cache/invariant_parts.h"

namespace recto::cache {
namespace {

class IndexCheck {
 public:
  explicit IndexCheck(const CacheCore& core)
      : core_(core),
        index_(core.index),
        users_(static_cast<std::size_t>(index_.max_nodes())),
        pins_(static_cast<std::size_t>(index_.max_nodes())),
        is_pinned_(static_cast<std::size_t>(index_.max_nodes())) {}

  Status run() {
    RECTO_RETURN_IF_ERROR(read_nodes());
    RECTO_RETURN_IF_ERROR(read_pins());
    RECTO_RETURN_IF_ERROR(read_blocks());
    RECTO_RETURN_IF_ERROR(read_chains());
    for (std::int32_t id = 0; id < index_.max_nodes(); ++id) {
      const NodeId node(id);
      const std::string name = " of node " + std::to_string(id);
      RECTO_RETURN_IF_ERROR(expect_same("users" + name, index_.users(node), at(users_, node)));
      if (!index_.is_live(node)) continue;
      RECTO_RETURN_IF_ERROR(expect_same("pins" + name, index_.pins(node), at(pins_, node)));
    }
    const CacheStatistics& done = core_.statistics;
    return expect_same("stored less evicted, overwritten and cleared blocks",
                       done.stored - done.evicted - done.overwritten - done.cleared, attached_);
  }

 private:
  Status read_nodes() {
    std::int32_t live = 0;
    for (std::int32_t id = 0; id < index_.max_nodes(); ++id) {
      const NodeId node(id);
      const bool is_live = index_.is_live(node);
      live += is_live ? 1 : 0;
      RECTO_RETURN_IF_ERROR(
          (is_live ? read_node(node) : read_unused(node)).in("node " + std::to_string(id)));
    }
    RECTO_RETURN_IF_ERROR(expect_same("number of nodes", index_.num_nodes(), live));
    RECTO_RETURN_IF_ERROR(
        expect_same("places of nodes and words", index_.num_places(), live + word_places_));
    return expect_same("entries of the hash table", index_.table().num_entries(), live);
  }

  // A lookup of the node's content finds the node, and nothing else.
  Status read_node(NodeId node) {
    const NodeId parent = index_.parent(node);
    if (parent != kRoot) {
      if (!index_.is_live(parent)) return Status::failed("its parent is gone");
      ++at(users_, parent);
    }
    const BlockContent content = index_.content(node, words_);
    word_places_ += index_.extra_places(content.extra_words.size());
    const PrefixIndex::Key key = index_.key(parent, content);
    RECTO_RETURN_IF_ERROR(expect_same("hash", index_.hash(node), key.hash));
    const PrefixIndex::Found found = index_.find(key, content);
    if (!found.node) return Status::failed("it is not found");
    RECTO_RETURN_IF_ERROR(expect_same("what is found for it", *found.node, node));
    for (std::int32_t group = 0; group < index_.num_groups(); ++group) {
      const BlockId block = core_.block_with(node, group);
      if (block == kNoBlock) continue;
      ++at(users_, node);
      ++attached_;
      RECTO_RETURN_IF_ERROR(expect_same("content of block " + internal::describe(block),
                                        core_.device.pool().content(block),
                                        index_.content_id(node, group)));
    }
    return Status::ok();
  }

  // No block may have the content of an unused node, whether it is free or holds another node's
  // words.
  Status read_unused(NodeId node) {
    for (std::int32_t group = 0; group < index_.num_groups(); ++group) {
      RECTO_RETURN_IF_ERROR(
          expect_same("the block without a node", core_.block_with(node, group), kNoBlock));
    }
    return Status::ok();
  }

  Status read_blocks() {
    const BlockPool& pool = core_.device.pool();
    std::int64_t findable = 0;
    for (std::int64_t id = 0; id < pool.size().value(); ++id) {
      const BlockId block(static_cast<std::int32_t>(id));
      const ContentId content = pool.content(block);
      const std::string name = "block " + std::to_string(id);
      if (content == kNoContent) {
        if (pool.is_pinned(block)) return Status::failed(name + " is pinned without content");
        continue;
      }
      ++findable;
      const NodeId node = index_.node_of(content);
      RECTO_RETURN_IF_ERROR(expect_same("where the content of " + name + " is found",
                                        pool.block_with(content), block));
      const bool is_pinned = is_pinned_[static_cast<std::size_t>(node.value())];
      RECTO_RETURN_IF_ERROR(
          expect_same("whether " + name + " is pinned", pool.is_pinned(block), is_pinned));
    }
    return expect_same("blocks with content", findable, attached_);
  }

  Status read_chains() {
    for (std::int32_t index = 0; index < core_.sequences.size(); ++index) {
      const Sequence& sequence = core_.sequences[index];
      const std::string name = "chain of sequence " + std::to_string(index);
      if (sequence.life == SequenceLife::kNone || sequence.chain == kRoot) {
        RECTO_RETURN_IF_ERROR(expect_same(name, sequence.chain, kRoot));
        RECTO_RETURN_IF_ERROR(expect_same("length of the " + name, sequence.published, 0));
        continue;
      }
      ++at(users_, sequence.chain);
      RECTO_RETURN_IF_ERROR(read_chain(index).in(name));
    }
    return Status::ok();
  }

  Status read_chain(std::int32_t index) {
    const Sequence& sequence = core_.sequences[index];
    NodeId node = sequence.chain;
    for (std::int64_t block = sequence.published - 1; block >= 0; --block) {
      if (node == kRoot || !index_.is_live(node)) return Status::failed("it is broken");
      for (std::int32_t group = 0; group < index_.num_groups(); ++group) {
        const BlockId held = core_.device.block({index, group, block});
        if (held == kNoBlock) continue;
        const ContentId content = core_.device.pool().content(held);
        const bool is_its_own = content == kNoContent || index_.node_of(content) == node;
        if (!is_its_own) return Status::failed("one of its blocks is known for something else");
      }
      node = index_.parent(node);
    }
    return expect_same("what comes before it", node, kRoot);
  }

  Status read_pins() {
    Status status = Status::ok();
    core_.pins.visit_used([&](std::int32_t, const PinRecord& pin) {
      ++at(users_, pin.end);
      ++at(pins_, pin.end);
      for (NodeId node = pin.end; node != kRoot && status.is_ok();) {
        if (!index_.is_live(node)) status = Status::failed("a pin goes through a forgotten node");
        const NodeId parent = index_.parent(node);
        const bool is_known = is_pinned_[static_cast<std::size_t>(node.value())];
        is_pinned_[static_cast<std::size_t>(node.value())] = true;
        if (!is_known && parent != kRoot) ++at(pins_, parent);
        node = parent;
      }
    });
    return status;
  }

  static std::int32_t& at(std::vector<std::int32_t>& counts, NodeId node) {
    return counts[static_cast<std::size_t>(node.value())];
  }

  const CacheCore& core_;
  const PrefixIndex& index_;
  std::vector<std::int32_t> users_;  // by node
  std::vector<std::int32_t> pins_;   // ends, and pinned children
  std::vector<bool> is_pinned_;
  ExtraWords words_;
  std::int64_t word_places_ = 0;
  std::int64_t attached_ = 0;
};

}  // namespace

Status check_index(const CacheCore& core) { return IndexCheck(core).run().in("prefix index"); }

}  // namespace recto::cache

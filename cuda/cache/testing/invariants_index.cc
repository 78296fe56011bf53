#include <cstdint>
#include <utility>
#include <vector>

#include "cuda/cache/testing/invariant_parts.h"

namespace recto::cache::testing {
namespace {

class IndexCheck {
 public:
  explicit IndexCheck(const CacheCore& core)
      : core_(core), index_(core.prefix.index()), nodes_(as_size(index_.max_nodes())) {}

  Status run() {
    RECTO_RETURN_IF_ERROR(read_nodes());
    RECTO_RETURN_IF_ERROR(read_pins());
    RECTO_RETURN_IF_ERROR(read_blocks());
    for (std::int32_t index = 0; index < core_.sequences.size(); ++index) {
      RECTO_RETURN_IF_ERROR(read_chain(index).in(message("chain of sequence ", index)));
    }
    for (std::int32_t id = 0; id < index_.max_nodes(); ++id) {
      const NodeId node(id);
      RECTO_RETURN_IF_ERROR(expect_same(index_.users(node), at(node).users, "users of node ", id));
      if (!index_.is_live(node)) continue;
      RECTO_RETURN_IF_ERROR(expect_same(index_.pins(node), at(node).pins, "pins of node ", id));
    }
    const CacheStatistics& done = core_.prefix.statistics();
    return expect_same(done.stored - done.evicted - done.overwritten - done.cleared, attached_,
                       "stored less evicted, overwritten and cleared blocks");
  }

 private:
  struct Node {
    std::int32_t users = 0;
    std::int32_t pins = 0;  // pins that end here, and pinned children
    bool is_pinned = false;
  };

  Status read_nodes() {
    std::int32_t live = 0;
    for (std::int32_t id = 0; id < index_.max_nodes(); ++id) {
      live += index_.is_live(NodeId(id)) ? 1 : 0;
      RECTO_RETURN_IF_ERROR(read_node(NodeId(id)).in(message("node ", id)));
    }
    RECTO_RETURN_IF_ERROR(expect_same(index_.num_nodes(), live, "number of nodes"));
    RECTO_RETURN_IF_ERROR(
        expect_same(index_.num_places(), live + word_places_, "places of nodes and words"));
    return expect_same(index_.table().num_entries(), live, "entries of the hash table");
  }

  // A lookup of the node's content finds only this node. No block has the content of an unused
  // node, whether the place is free or holds another node's words.
  Status read_node(NodeId node) {
    for (std::int32_t group = 0; group < index_.num_groups(); ++group) {
      const BlockId block = core_.prefix.block_with(node, group);
      if (block == kNoBlock) continue;
      if (!index_.is_live(node)) return broken("the block without a node is ", block);
      ++at(node).users;
      ++attached_;
      RECTO_RETURN_IF_ERROR(expect_same(core_.device.pool().content(block),
                                        index_.content_id(node, group), "content of block ",
                                        block));
    }
    if (!index_.is_live(node)) return Status::ok();
    const NodeId parent = index_.parent(node);
    if (parent != kRoot) {
      if (!index_.is_live(parent)) return broken("its parent is gone");
      ++at(parent).users;
    }
    ExtraWords words;
    const BlockContent content = index_.content(node, words);
    word_places_ += index_.extra_places(content.extra_words.size());
    const PrefixIndex::Key key = index_.key(parent, content);
    RECTO_RETURN_IF_ERROR(expect_same(index_.hash(node), key.hash, "hash"));
    const PrefixIndex::Found found = index_.find(key, content);
    if (!found.node.has_value()) return broken("it is not found");
    return expect_same(*found.node, node, "what is found for it");
  }

  Status read_blocks() {
    const BlockPool& pool = core_.device.pool();
    std::int64_t findable = 0;
    for (std::int32_t id = 0; id < pool.size().value(); ++id) {
      const BlockId block(id);
      const ContentId content = pool.content(block);
      const bool is_findable = content != kNoContent;
      findable += is_findable ? 1 : 0;
      RECTO_RETURN_IF_ERROR(expect_same(is_findable ? pool.block_with(content) : block, block,
                                        "where the content of block ", id, " is found"));
      const bool is_pinned = is_findable && at(index_.node_of(content)).is_pinned;
      RECTO_RETURN_IF_ERROR(
          expect_same(pool.is_pinned(block), is_pinned, "whether block ", id, " is pinned"));
    }
    return expect_same(findable, attached_, "blocks with content");
  }

  Status read_chain(std::int32_t index) {
    const Chain& chain = core_.sequences[index].chain;
    NodeId node = chain.end;
    if (node == kRoot) return expect_same(chain.published, 0, "length of the chain");
    ++at(node).users;
    for (std::int64_t block = chain.published - 1; block >= 0; --block) {
      const bool is_there = node != kRoot && index_.is_live(node);
      if (!is_there) return broken("it is broken");
      for (std::int32_t group = 0; group < index_.num_groups(); ++group) {
        const BlockId held = core_.device.block({index, group, block});
        if (held == kNoBlock) continue;
        const ContentId content = core_.device.pool().content(held);
        const bool is_its_own = content == kNoContent || index_.node_of(content) == node;
        if (!is_its_own) return broken("one of its blocks is known for something else");
      }
      node = index_.parent(node);
    }
    return expect_same(node, kRoot, "what comes before it");
  }

  Status read_pins() {
    Status status = Status::ok();
    core_.prefix.pins().visit_used([&](std::int32_t, NodeId end) {
      ++at(end).users;
      ++at(end).pins;
      for (NodeId node = end; node != kRoot && status.is_ok();) {
        if (!index_.is_live(node)) status = broken("a pin goes through a forgotten node");
        const NodeId parent = index_.parent(node);
        const bool is_known = std::exchange(at(node).is_pinned, true);
        if (!is_known && parent != kRoot) ++at(parent).pins;
        node = parent;
      }
    });
    return status;
  }

  static std::size_t as_size(std::int32_t count) { return static_cast<std::size_t>(count); }
  Node& at(NodeId node) { return nodes_[as_size(node.value())]; }

  const CacheCore& core_;
  const PrefixIndex& index_;
  std::vector<Node> nodes_;
  std::int64_t word_places_ = 0;
  std::int64_t attached_ = 0;
};

}  // namespace

Status check_index(const CacheCore& core) { return IndexCheck(core).run().in("prefix index"); }

}  // namespace recto::cache::testing

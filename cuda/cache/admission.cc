#include "cuda/cache/admission.h"

#include <algorithm>
#include <array>
#include <string>

#include "cuda/cache/content_reader.h"

namespace recto::cache {
namespace {

// Tracks, block by block, from which block on each group has all blocks seen so far.
class PresenceScan {
 public:
  explicit PresenceScan(const CacheCore& core) : core_(&core) {
    std::fill_n(present_from_.begin(), core.geometry.num_groups(), 0);
  }

  void see(NodeId node, std::int64_t block) {
    for (std::int32_t group = 0; group < core_->geometry.num_groups(); ++group) {
      if (core_->block_with(node, group) != kNoBlock) continue;
      present_from_[static_cast<std::size_t>(group)] = block + 1;
    }
  }
  // Whether every group has what a row after `blocks` blocks sees.
  bool is_enough(std::int64_t blocks) const {
    const std::int64_t length = blocks * core_->geometry.block_size();
    for (std::int32_t group = 0; group < core_->geometry.num_groups(); ++group) {
      const std::int64_t needed = core_->geometry.first_needed(group, length);
      if (present_from_[static_cast<std::size_t>(group)] > needed) return false;
    }
    return true;
  }
  // Whether some group cannot have enough, however many blocks follow.
  bool is_hopeless() const {
    for (std::int32_t group = 0; group < core_->geometry.num_groups(); ++group) {
      const bool is_seen_whole = !core_->geometry.has_window(group);
      if (is_seen_whole && present_from_[static_cast<std::size_t>(group)] > 0) return true;
    }
    return false;
  }

 private:
  const CacheCore* core_;
  std::array<std::int64_t, kMaxLayerGroups> present_from_;  // by group
};

// The blocks of a prompt, one after the other, and their keys in the index. Uses the hashes that
// come with the prompt, then computes the rest from the last one.
class PromptReader {
 public:
  PromptReader(const CacheCore& core, const Prompt& prompt)
      : hasher_(core.index.hasher()),
        block_size_(core.geometry.block_size()),
        told_(prompt.hashes),
        reader_(prompt.tokens, prompt.keys, core.options.prefix.max_items_per_block) {}

  // Advances to the next block, which must be full; `parent` is the previous block's node. False if
  // too many items overlap it.
  bool next(NodeId parent) {
    if (!reader_.read(block_, block_size_)) return false;
    key_.parent = parent;
    key_.hash = block_ < std::ssize(told_)
                    ? told_[static_cast<std::size_t>(block_)]
                    : hasher_(key_.hash, content().tokens, content().extra_words);
    ++block_;
    return true;
  }
  const PrefixIndex::Key& key() const { return key_; }
  const BlockContent& content() const { return reader_.content(); }

 private:
  const BlockHasher& hasher_;
  std::int64_t block_size_;
  std::int64_t block_ = 0;
  std::span<const BlockHash> told_;  // [at most the prompt's blocks]
  ContentReader reader_;
  PrefixIndex::Key key_{.hash = root_hash(), .parent = kRoot};
};

// The number of found blocks that nobody holds, and that could also be had by evicting them.
std::int64_t count_revived(const CacheCore& core, const PrefixMatch& match) {
  std::int64_t revived = 0;
  const std::int64_t length = match.blocks * core.geometry.block_size();
  NodeId node = match.end;
  for (std::int64_t block = match.blocks - 1; block >= 0; --block) {
    for (std::int32_t group = 0; group < core.geometry.num_groups(); ++group) {
      if (block < core.geometry.first_needed(group, length)) continue;
      const BlockId found = core.block_with(node, group);
      if (core.device.pool().state(found) == BlockState::kEvictable) ++revived;
    }
    node = core.index.parent(node);
  }
  return revived;
}

Status check_prompt(const CacheCore& core, const Prompt& prompt, std::optional<TokenCount> room) {
  const std::int64_t most = core.geometry.max_tokens();
  const std::int64_t length = std::ssize(prompt.tokens.ids);
  if (length < 1 || length > most) {
    return Status::invalid_input("prompt of " + std::to_string(length) +
                                 " tokens; expected 1 to the " + std::to_string(most) +
                                 " of a block table");
  }
  if (room && (room->value() < 0 || room->value() > most)) {
    return Status::invalid_input("room for " + std::to_string(room->value()) +
                                 " tokens; expected 0 to the " + std::to_string(most) +
                                 " of a block table");
  }
  return check_tokens(prompt.tokens);
}

// Fills the table's entries from a hit, from the end to the start, because nodes know their
// parents.
void adopt_prefix(CacheCore& core, std::int32_t sequence, const PrefixMatch& match) {
  const std::int64_t length = core.sequences[sequence].device.length;
  const std::int32_t num_groups = core.geometry.num_groups();
  for (std::int32_t group = 0; group < num_groups; ++group) {
    core.device.tables().first(sequence, group) =
        static_cast<std::int32_t>(core.geometry.first_needed(group, length));
  }
  NodeId node = match.end;
  for (std::int64_t block = match.blocks - 1; block >= 0; --block) {
    for (std::int32_t group = 0; group < num_groups; ++group) {
      const TablePlace place{sequence, group, block};
      if (block >= core.device.tables().first(sequence, group)) {
        core.device.adopt(place, core.block_with(node, group));
      } else {
        core.device.tables().at(place) = kNoBlock;
      }
    }
    node = core.index.parent(node);
  }
}

}  // namespace

PrefixMatch match_prefix(const CacheCore& core, const Prompt& prompt, std::int64_t max_blocks) {
  PrefixMatch match;
  if (!core.is_caching()) return match;
  // Hashes depend on hashes, not on the nodes found, so the next block is hashed while waiting for
  // memory.
  PromptReader reader(core, prompt);
  PresenceScan scan(core);
  NodeId node = kRoot;
  for (std::int64_t block = 0; block < max_blocks && reader.next(node); ++block) {
    const PrefixIndex::Found found = core.index.find(reader.key(), reader.content());
    match.collisions += found.collisions;
    if (!found.node) break;
    node = *found.node;
    scan.see(node, block);
    if (scan.is_hopeless()) break;
    if (!scan.is_enough(block + 1)) continue;
    match.end = node;
    match.blocks = static_cast<std::int32_t>(block + 1);
  }
  return match;
}

Result<std::int64_t> hash_prompt(const CacheCore& core, const Prompt& prompt,
                                 std::span<BlockHash> hashes) {
  RECTO_RETURN_IF_ERROR(check_tokens(prompt.tokens));
  if (!core.is_caching()) return 0;
  const std::int64_t full = core.geometry.full_blocks(std::ssize(prompt.tokens.ids));
  PromptReader reader(core, prompt);
  std::int64_t block = 0;
  for (; block < std::min(full, std::ssize(hashes)) && reader.next(kRoot); ++block) {
    hashes[static_cast<std::size_t>(block)] = reader.key().hash;
  }
  return block;
}

TokenCount cached_prefix(const CacheCore& core, const Prompt& prompt) {
  if (!check_prompt(core, prompt, std::nullopt).is_ok()) return TokenCount(0);
  const std::int64_t length = std::ssize(prompt.tokens.ids);
  const PrefixMatch match = match_prefix(core, prompt, core.geometry.full_blocks(length - 1));
  return TokenCount(match.blocks * core.geometry.block_size());
}

Result<AdmissionPlan> plan_admission(const CacheCore& core, const Prompt& prompt,
                                     std::optional<TokenCount> room) {
  RECTO_RETURN_IF_ERROR(check_prompt(core, prompt, room));
  const CacheGeometry& geometry = core.geometry;
  const std::int64_t length = std::ssize(prompt.tokens.ids);
  AdmissionPlan plan;
  // The last token is computed even if its block is cached: its output is needed.
  plan.match = match_prefix(core, prompt, geometry.full_blocks(length - 1));
  plan.blocks =
      std::max<std::int64_t>(plan.match.blocks, geometry.blocks_for(room ? room->value() : length));
  plan.fresh = (plan.blocks - plan.match.blocks) * geometry.num_groups();
  plan.revived = count_revived(core, plan.match);
  return plan;
}

bool has_room(const CacheCore& core, const AdmissionPlan& plan) {
  const BlockPool& pool = core.device.pool();
  const std::int64_t needed = plan.fresh + plan.revived;
  return needed + core.options.watermark.value() <= pool.available().value();
}

Status check_room(const CacheCore& core, const AdmissionPlan& plan) {
  if (has_room(core, plan)) return Status::ok();
  const BlockPool& pool = core.device.pool();
  return Status::exhausted(
      "needs " + std::to_string(plan.fresh) + " blocks beside a cached prefix of " +
      std::to_string(plan.match.blocks) + " per group, for which " + std::to_string(plan.revived) +
      " evictable ones are taken; there are " + std::to_string(pool.free().value()) + " free and " +
      std::to_string(pool.evictable().value()) + " evictable, and a watermark of " +
      std::to_string(core.options.watermark.value()));
}

void carry_out(CacheCore& core, std::int32_t sequence, const Prompt& prompt,
               const AdmissionPlan& plan) {
  Sequence& mine = core.sequences[sequence];
  const std::int64_t hit = plan.match.blocks * core.geometry.block_size();
  core.sequences.details(sequence).keys = prompt.keys;
  core.sequences.details(sequence).publishing = PrefixCaching::kOn;
  mine.device.length = hit;
  adopt_prefix(core, sequence, plan.match);
  mine.device.blocks = plan.match.blocks;
  mine.chain = plan.match.end;
  mine.published = plan.match.blocks;
  mine.committed = plan.match.blocks;
  core.index.add_user(mine.chain);
  core.take_until(sequence, plan.blocks);
  core.log.add(sequence, 0, plan.blocks);
  core.refresh_run(sequence);
  if (!core.is_caching()) return;
  ++core.statistics.queries;
  core.statistics.query_tokens += std::ssize(prompt.tokens.ids);
  core.statistics.hit_tokens += hit;
  core.statistics.collisions += plan.match.collisions;
}

}  // namespace recto::cache

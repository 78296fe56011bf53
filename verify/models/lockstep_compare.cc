// Whether manager and model are in the same state, and slots hold what they should.

#include <algorithm>
#include <set>

#include "core/contract.h"
#include "cuda/cache/cache_core.h"
#include "cuda/cache/invariants.h"
#include "verify/models/answers.h"
#include "verify/models/lockstep.h"

namespace recto::verify {
namespace {

void same_states(const cache::PoolStates& manager, const cache::PoolStates& model) {
  RECTO_CHECK_EQ(manager.used, model.used);
  RECTO_CHECK_EQ(manager.held_empty, model.held_empty);
  RECTO_CHECK_EQ(manager.cached, model.cached);
  RECTO_CHECK_EQ(manager.pinned, model.pinned);
  RECTO_CHECK_EQ(manager.free, model.free);
  RECTO_CHECK_EQ(manager.overhead, model.overhead);
}

std::vector<BlockId> evictable_blocks(const cache::BlockPool& pool) {
  std::vector<BlockId> blocks;
  for (BlockId block = pool.oldest_evictable(); block != cache::kNoBlock;
       block = pool.next(block)) {
    blocks.push_back(block);
  }
  return blocks;
}

}  // namespace

// New entries of tables say which block a new name is.
void Lockstep::bind_tables() {
  device_names_.keep([this](BlockName name) { return model_.has_block(name); });
  const auto hosts = model_.host_holders();
  host_names_.keep([&hosts](BlockName name) { return hosts.contains(name); });
  for (const Actor& actor : actors_) {
    const ModelSequence& expected = model_.sequences().at(actor.name);
    const bool is_here = expected.state != cache::SequenceState::kPreempted &&
                         expected.state != cache::SequenceState::kSwapped;
    for (std::int32_t group = 0; group < num_groups(); ++group) {
      const auto table = manager_.block_table(actor.handle, group).value();
      if (!is_here) {
        RECTO_CHECK_EQ(table.size(), 0U);
        continue;
      }
      const auto& row = expected.device[static_cast<std::size_t>(group)];
      RECTO_CHECK_EQ(table.size(), row.size());
      for (std::size_t i = 0; i < row.size(); ++i) {
        RECTO_CHECK_EQ(table[i] == cache::kNoBlock, row[i] == kGone);
        if (row[i] != kGone) device_names_.bind(row[i], table[i]);
      }
    }
  }
}

void Lockstep::compare() {
  bind_tables();
  compare_counts();
  compare_statistics();
  compare_sequences();
  compare_index();
  compare_lookups();
  check_reads();
  RECTO_CHECK_EQ(Answer(cache::check_invariants(manager_)), Answer(Status()));
}

void Lockstep::compare_counts() const {
  RECTO_CHECK_EQ(manager_.available_blocks().value(), model_.available());
  RECTO_CHECK_EQ(manager_.num_sequences(), std::ssize(model_.sequences()));
  same_states(manager_.states(), model_.states());
  same_states(manager_.host_states(), model_.host_states());
  RECTO_CHECK_EQ(manager_.states().sum(),
                 model_.options().num_blocks.value() * model_.options().block_size);
  for (std::int32_t group = 0; group < num_groups(); ++group) {
    const cache::GroupStates answer = manager_.group_states(group);
    const cache::GroupStates expected = model_.group_states(group);
    RECTO_CHECK_EQ(answer.used, expected.used);
    RECTO_CHECK_EQ(answer.held_empty, expected.held_empty);
    RECTO_CHECK_EQ(answer.cached, expected.cached);
    RECTO_CHECK_EQ(answer.pinned, expected.pinned);
  }
}

void Lockstep::compare_statistics() {
  const cache::CacheStatistics& answer = manager_.statistics();
  const cache::CacheStatistics& expected = model_.statistics();
  RECTO_CHECK_EQ(answer.queries, expected.queries);
  RECTO_CHECK_EQ(answer.query_tokens, expected.query_tokens);
  RECTO_CHECK_EQ(answer.hit_tokens, expected.hit_tokens);
  RECTO_CHECK_EQ(answer.stored, expected.stored);
  RECTO_CHECK_EQ(answer.evicted, expected.evicted);
  RECTO_CHECK_EQ(answer.evicted_for_nodes, expected.evicted_for_nodes);
  RECTO_CHECK_EQ(answer.overwritten, expected.overwritten);
  RECTO_CHECK_EQ(answer.cleared, expected.cleared);
  RECTO_CHECK_EQ(answer.duplicates, expected.duplicates);
  RECTO_CHECK_EQ(answer.no_node, expected.no_node);
  RECTO_CHECK_EQ(answer.too_many_items, expected.too_many_items);
  const bool has_nodes_enough = !model_.options().prefix.max_nodes && !model_.met_words();
  if (has_nodes_enough) RECTO_CHECK_EQ(answer.no_node, 0);
  // How many collisions there are, hashes alone can say: never fewer, and none where all bits
  // count.
  RECTO_CHECK_GE(answer.collisions, collisions_);
  if (model_.options().prefix.hasher.mask == ~std::uint64_t{0})
    RECTO_CHECK_EQ(answer.collisions, 0);
  happenings_.count(Happening::kCollision, answer.collisions - collisions_);
  collisions_ = answer.collisions;
}

void Lockstep::compare_sequences() const {
  for (const Actor& actor : actors_) {
    const cache::SequenceView answer = manager_.view(actor.handle).value();
    const cache::SequenceView expected = model_.view(actor.name).value();
    RECTO_CHECK_EQ(sequence_state_name(answer.state), sequence_state_name(expected.state));
    RECTO_CHECK_EQ(answer.context_length, expected.context_length);
    RECTO_CHECK_EQ(answer.context_length.value(), std::ssize(actor.tags));
    RECTO_CHECK_EQ(answer.capacity, expected.capacity);
    RECTO_CHECK_EQ(answer.published, expected.published);
  }
  for (const cache::SequenceHandle handle : gone_) RECTO_CHECK(!manager_.view(handle).is_ok());
}

// The prefix index by its events, the order of eviction, and what findable blocks hold.
void Lockstep::compare_index() const {
  RECTO_CHECK_EQ(events_.fault(), std::string());
  RECTO_CHECK_EQ(events_.stored().size(), model_.findable().size());
  const cache::BlockPool& pool = manager_.core().device.pool();
  for (const auto& [key, name] : model_.findable()) {
    const std::optional<BlockId> block = device_names_.block(name);
    RECTO_CHECK(block);
    const auto stored = events_.stored().find({key.group, *block});
    RECTO_CHECK(stored != events_.stored().end());
    const BlockText& text = model_.text(key.chain.back());
    RECTO_CHECK(stored->second.tokens == text.tokens);
    RECTO_CHECK(stored->second.words == text.words);
    cache::BlockHash hash = cache::root_hash();
    for (std::size_t i = 0; i < key.chain.size(); ++i) {
      if (i + 1 == key.chain.size()) RECTO_CHECK_EQ(stored->second.parent_hash, hash);
      const BlockText& step = model_.text(key.chain[i]);
      hash = model_.options().prefix.hasher(hash, step.tokens, step.words);
    }
    RECTO_CHECK_EQ(stored->second.hash, hash);
    RECTO_CHECK_EQ(pool.is_pinned(*block), model_.is_pinned(name));
    const std::vector<SlotTag>& tags = published_.at(key.chain);
    for (std::int64_t offset = 0; offset < block_size(); ++offset) {
      RECTO_CHECK_EQ(shadow_.read(key.group, *block, offset),
                     tags[static_cast<std::size_t>(offset)]);
    }
  }
  std::vector<BlockId> expected;
  for (const BlockName name : model_.evictable()) expected.push_back(*device_names_.block(name));
  RECTO_CHECK(evictable_blocks(pool) == expected);
}

// Questions that change nothing.
void Lockstep::compare_lookups() {
  for (const CacheText& text : remembered_) {
    RECTO_CHECK_EQ(manager_.cached_prefix(text.prompt()).value(), model_.cached_prefix(text));
  }
  const Picked running = all_in(cache::SequenceState::kRunning);
  BlockManagerModel trial = model_;
  RECTO_CHECK_EQ(manager_.can_append(handles(running)), trial.append(names(running)).is_ok());
}

void Lockstep::check_reads() const {
  for (const Actor& actor : actors_) {
    const ModelSequence& expected = model_.sequences().at(actor.name);
    if (expected.state == cache::SequenceState::kSwapped) check_host_reads(actor);
    if (expected.state != cache::SequenceState::kRunning &&
        expected.state != cache::SequenceState::kSwappingOut) {
      continue;
    }
    const auto context = std::ssize(actor.tags);
    for (std::int32_t group = 0; group < num_groups(); ++group) {
      const auto window = model_.options().groups[static_cast<std::size_t>(group)].window;
      const std::int64_t begin =
          window ? std::max<std::int64_t>(0, context - window->value() + 1) : 0;
      const auto table = manager_.block_table(actor.handle, group).value();
      for (std::int64_t token = begin; token < context; ++token) {
        const BlockId block = table[static_cast<std::size_t>(token / block_size())];
        RECTO_CHECK_EQ(shadow_.read(group, block, token % block_size()),
                       actor.tags[static_cast<std::size_t>(token)]);
      }
    }
  }
}

// The host's tables are the manager's own; where blocks went is known from the copies.
void Lockstep::check_host_reads(const Actor& actor) const {
  const ModelTable& table = model_.sequences().at(actor.name).host;
  for (std::int32_t group = 0; group < num_groups(); ++group) {
    const auto& row = table[static_cast<std::size_t>(group)];
    for (std::size_t i = 0; i < actor.tags.size(); ++i) {
      const BlockName name = row[i / static_cast<std::size_t>(block_size())];
      if (name == kGone) continue;
      const std::optional<BlockId> block = host_names_.block(name);
      RECTO_CHECK(block);
      const auto offset = static_cast<std::int64_t>(i) % block_size();
      const auto window = model_.options().groups[static_cast<std::size_t>(group)].window;
      if (window && static_cast<std::int64_t>(i) <= std::ssize(actor.tags) - window->value()) {
        continue;
      }
      RECTO_CHECK_EQ(shadow_.read_host(group, *block, offset), actor.tags[i]);
    }
  }
}

// Nobody else sees it, nobody can find it, and it is not set apart.
void Lockstep::check_writable(std::size_t who, std::int32_t group, BlockId block) const {
  RECTO_CHECK_GE(block.value(), model_.options().null_blocks.value());
  RECTO_CHECK(!is_in_flight(block));
  for (std::int32_t other = 0; other < num_groups(); ++other) {
    RECTO_CHECK(!events_.stored().contains({other, block}));
    for (std::size_t i = 0; i < actors_.size(); ++i) {
      if (i == who && other == group) continue;
      // What comes back to it is looked at as a transfer.
      if (model_.sequences().at(actors_[i].name).state == cache::SequenceState::kSwappingIn)
        continue;
      const auto table = manager_.block_table(actors_[i].handle, other).value();
      RECTO_CHECK(std::ranges::find(table, block) == table.end());
    }
  }
}

void Lockstep::check_unseen(BlockId block) const {
  for (std::int32_t group = 0; group < num_groups(); ++group) {
    check_writable(actors_.size(), group, block);
  }
}

// All that can be seen of the manager, physical ids included.
std::vector<std::int64_t> Lockstep::observe() const {
  std::vector<std::int64_t> seen = {manager_.available_blocks().value(), manager_.num_sequences(),
                                    events_.num_cleared(), std::ssize(events_.stored())};
  for (const cache::PoolStates& states : {manager_.states(), manager_.host_states()}) {
    for (const TokenCount part : {states.used, states.held_empty, states.cached, states.pinned,
                                  states.free, states.overhead}) {
      seen.push_back(part.value());
    }
  }
  const cache::CacheStatistics& counts = manager_.statistics();
  seen.insert(seen.end(),
              {counts.queries, counts.query_tokens, counts.hit_tokens, counts.stored,
               counts.evicted, counts.evicted_for_nodes, counts.overwritten, counts.cleared,
               counts.duplicates, counts.collisions, counts.no_node, counts.too_many_items});
  for (const Actor& actor : actors_) {
    const cache::SequenceView view = manager_.view(actor.handle).value();
    seen.insert(seen.end(), {static_cast<std::int64_t>(view.state), view.context_length.value(),
                             view.capacity.value(), view.published.value()});
    for (std::int32_t group = 0; group < num_groups(); ++group) {
      const auto table = manager_.block_table(actor.handle, group).value();
      for (const BlockId block : table) seen.push_back(block.value());
    }
  }
  const cache::BlockPool& pool = manager_.core().device.pool();
  for (const BlockId block : evictable_blocks(pool)) seen.push_back(block.value());
  for (const cache::BlockPool* part : {&pool, &manager_.core().host.pool()}) {
    for (BlockId block = part->first_free(); block != cache::kNoBlock; block = part->next(block)) {
      seen.push_back(block.value());
    }
  }
  return seen;
}

}  // namespace recto::verify

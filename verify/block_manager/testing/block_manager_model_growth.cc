// The model: sequences that grow, branch and give blocks back.

#include <algorithm>
#include <set>

#include "verify/block_manager/testing/block_manager_model.h"

namespace recto::verify {

// Makes the slots after the context private: copies a shared or pinned tail block, and removes the
// content of a private one from the prefix cache.
Status BlockManagerModel::own_tail(ModelSequence& sequence, std::vector<cache::BlockCopy>& copies) {
  const std::int64_t filled = sequence.context % block_size();
  if (filled == 0) return Status();
  const auto tail = static_cast<std::size_t>(sequence.context / block_size());
  for (std::int32_t group = 0; group < num_groups(); ++group) {
    BlockId& entry = sequence.device[static_cast<std::size_t>(group)][tail];
    if (holders().at(entry) == 1 && !is_pinned(entry)) {
      if (content(entry) == nullptr) continue;
      forget(entry);
      ++statistics_.overwritten;
      continue;
    }
    const BlockId source = entry;
    const std::optional<BlockId> destination = take(group);
    if (!destination) return Status::exhausted("blocks for copies");
    drop(entry);
    entry = *destination;
    copies.push_back({group, source, *destination, TokenCount(filled)});
  }
  return Status();
}

Result<std::vector<cache::BlockCopy>> BlockManagerModel::reserve(cache::SequenceHandle handle,
                                                                 TokenCount length) {
  RECTO_RETURN_IF_ERROR(check_running({&handle, 1}));
  const std::int64_t tokens = length.value();
  if (tokens < 0 || tokens > max_tokens()) return Status::invalid_input("length");
  return attempt([&](BlockManagerModel& trial) -> Result<std::vector<cache::BlockCopy>> {
    ModelSequence& sequence = trial.edit(handle);
    std::vector<cache::BlockCopy> copies;
    if (tokens <= sequence.context) return copies;
    trial.drop_unseen(sequence);
    RECTO_RETURN_IF_ERROR(trial.own_tail(sequence, copies));
    RECTO_RETURN_IF_ERROR(trial.extend(sequence.device, tokens));
    return copies;
  });
}

Result<std::vector<cache::BlockCopy>> BlockManagerModel::append(cache::SequenceHandle handle,
                                                                TokenCount count) {
  RECTO_RETURN_IF_ERROR(check_running({&handle, 1}));
  if (count < TokenCount(0)) return Status::invalid_input("count");
  const TokenCount length = TokenCount(at(handle).context) + count;
  auto copies = reserve(handle, length);
  if (copies.is_ok()) edit(handle).context = length.value();
  return copies;
}

// All sequences drop unseen blocks before any of them allocates.
Result<std::vector<cache::BlockCopy>> BlockManagerModel::append(
    std::span<const cache::SequenceHandle> handles) {
  RECTO_RETURN_IF_ERROR(check_running(handles));
  for (const cache::SequenceHandle handle : handles) {
    if (at(handle).context + 1 > max_tokens()) return Status::invalid_input("length");
  }
  return attempt([&](BlockManagerModel& trial) -> Result<std::vector<cache::BlockCopy>> {
    for (const cache::SequenceHandle handle : handles) trial.drop_unseen(trial.edit(handle));
    std::vector<cache::BlockCopy> copies;
    for (const cache::SequenceHandle handle : handles) {
      ModelSequence& sequence = trial.edit(handle);
      RECTO_RETURN_IF_ERROR(trial.own_tail(sequence, copies));
      RECTO_RETURN_IF_ERROR(trial.extend(sequence.device, ++sequence.context));
    }
    return copies;
  });
}

std::int64_t BlockManagerModel::max_known_places() const {
  if (options_.prefix.max_nodes) return *options_.prefix.max_nodes;
  const std::int64_t blocks = options_.num_blocks.value();
  const auto has_window = [](const cache::LayerGroup& group) { return group.window.has_value(); };
  if (!std::ranges::all_of(options_.groups, has_window)) return blocks;
  const std::int64_t chains = options_.max_sequences + options_.prefix.max_pins;
  return blocks + chains * options_.max_blocks_per_sequence.value();
}

// Evicts the least recently used content until the index has room. Exhausted if there is still no
// room.
Status BlockManagerModel::publish_block(ModelSequence& sequence, std::int32_t text) {
  TextChain chain = sequence.published;
  chain.push_back(text);
  const std::int64_t most = max_known_places() - places_of(text);
  while (!is_known(chain) && num_known_places() > most) {
    const std::vector<BlockId> victims = eviction_order();
    if (victims.empty()) return Status::exhausted("nodes");
    forget(victims.front());
    ++statistics_.evicted;
    ++statistics_.evicted_for_nodes;
  }
  for (std::int32_t group = 0; group < num_groups(); ++group) {
    const BlockId block = sequence.device[static_cast<std::size_t>(group)][chain.size() - 1];
    if (block == cache::kNoBlock) continue;
    const auto [entry, is_new] = findable_.try_emplace({chain, group}, block);
    if (is_new) {
      ++statistics_.stored;
    } else if (entry->second != block) {
      ++statistics_.duplicates;
    }
  }
  sequence.published = std::move(chain);
  return Status();
}

Status BlockManagerModel::commit(cache::SequenceHandle handle, const cache::Tokens& tokens) {
  RECTO_RETURN_IF_ERROR(check_running({&handle, 1}));
  if (!cache::testing::has_proper_items(tokens)) return Status::invalid_input("items");
  ModelSequence& sequence = edit(handle);
  if (std::ssize(tokens.ids) < sequence.context) return Status::invalid_input("too few ids");
  // A block that found no room in the index is tried again when another block is full.
  const std::int64_t full = sequence.context / block_size();
  if (full <= sequence.committed) return Status();
  sequence.committed = full;
  if (!is_caching() || sequence.saw_reset) return Status();
  while (std::ssize(sequence.published) < full) {
    const auto number =
        number_of({.tokens = tokens, .keys = sequence.keys}, std::ssize(sequence.published));
    if (!number) {
      ++statistics_.too_many_items;
      break;
    }
    if (!publish_block(sequence, *number).is_ok()) {
      ++statistics_.no_node;
      break;
    }
  }
  return Status();
}

// A sequence with the same context, but without the blocks after it.
ModelSequence BlockManagerModel::branch(const ModelSequence& parent) const {
  ModelSequence child = parent;
  for (auto& row : child.device) {
    row.resize(static_cast<std::size_t>(blocks_of(parent.context)), cache::kNoBlock);
  }
  return child;
}

Result<cache::SequenceHandle> BlockManagerModel::fork(cache::SequenceHandle parent) {
  RECTO_RETURN_IF_ERROR(check_running({&parent, 1}));
  if (std::ssize(sequences_) >= options_.max_sequences) return Status::exhausted("sequences");
  return add(branch(at(parent)));
}

Result<std::vector<cache::SequenceHandle>> BlockManagerModel::beam_step(
    std::span<const cache::SequenceHandle> parents, std::span<const std::int32_t> parent_of) {
  RECTO_RETURN_IF_ERROR(check_running(parents));
  for (const std::int32_t parent : parent_of) {
    if (parent < 0 || parent >= std::ssize(parents)) return Status::invalid_input("parent_of");
  }
  const auto after = std::ssize(sequences_) - std::ssize(parents) + std::ssize(parent_of);
  if (after > options_.max_sequences) return Status::exhausted("sequences");
  std::vector<cache::SequenceHandle> children;
  std::set<std::int32_t> continued;
  for (const std::int32_t index : parent_of) {
    const cache::SequenceHandle parent = parents[static_cast<std::size_t>(index)];
    const bool is_first = continued.insert(parent.index).second;
    children.push_back(is_first ? parent : add(branch(at(parent))));
  }
  for (const cache::SequenceHandle parent : parents) {
    if (!continued.contains(parent.index)) RECTO_RETURN_IF_ERROR(release(parent));
  }
  return children;
}

Status BlockManagerModel::truncate(cache::SequenceHandle handle, TokenCount length) {
  RECTO_RETURN_IF_ERROR(check_running({&handle, 1}));
  ModelSequence& sequence = edit(handle);
  const std::int64_t tokens = length.value();
  if (tokens < 0 || tokens > sequence.context) return Status::invalid_input("length");
  const std::int64_t blocks = blocks_of(tokens);
  for (std::int32_t group = 0; group < num_groups(); ++group) {
    const auto& row = sequence.device[static_cast<std::size_t>(group)];
    for (std::int64_t i = first_seen(group, tokens); i < blocks; ++i) {
      const bool is_there = row[static_cast<std::size_t>(i)] != cache::kNoBlock;
      if (!is_there) return Status::invalid_input("given back");
    }
  }
  drop_from(sequence.device, blocks);
  sequence.context = tokens;
  const std::int64_t full = tokens / block_size();
  sequence.published.resize(std::min(sequence.published.size(), static_cast<std::size_t>(full)));
  sequence.committed = std::min(sequence.committed, full);
  return Status();
}

Status BlockManagerModel::release(cache::SequenceHandle handle) {
  const auto found = sequences_.find(handle.index);
  if (found == sequences_.end() || found->second.is_released) {
    return Status::invalid_input("no such sequence");
  }
  ModelSequence& sequence = found->second;
  if (sequence.state == cache::SequenceState::kSwappingOut ||
      sequence.state == cache::SequenceState::kSwappingIn) {
    sequence.is_released = true;
    return Status();
  }
  drop_from(sequence.device, 0);
  sequences_.erase(found);
  return Status();
}

Status BlockManagerModel::preempt(cache::SequenceHandle handle) {
  RECTO_RETURN_IF_ERROR(check_running({&handle, 1}));
  ModelSequence& sequence = edit(handle);
  drop_from(sequence.device, 0);
  sequence.state = cache::SequenceState::kPreempted;
  sequence.context = 0;
  sequence.published.clear();
  sequence.committed = 0;
  return Status();
}

}  // namespace recto::verify

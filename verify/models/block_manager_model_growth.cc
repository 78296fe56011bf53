// Sequences that grow, branch and give back.

#include "verify/models/block_manager_model.h"

#include <algorithm>
#include <set>

namespace recto::verify {

// The slots behind the context are this sequence's alone, and nobody will find them.
Status BlockManagerModel::own_tail(ModelSequence& sequence, std::vector<ModelCopy>& copies) {
  const std::int64_t filled = sequence.context % block_size();
  if (filled == 0) return Status();
  const auto tail = static_cast<std::size_t>(sequence.context / block_size());
  for (std::int32_t group = 0; group < num_groups(); ++group) {
    BlockName& entry = sequence.device[static_cast<std::size_t>(group)][tail];
    if (device_holders().at(entry) == 1 && !is_pinned(entry)) {
      if (content(entry) == nullptr) continue;
      forget(entry);
      ++statistics_.overwritten;
      continue;
    }
    const BlockName source = entry;
    const std::optional<BlockName> destination = take(group);
    if (!destination) return Status::exhausted("blocks for copies");
    drop(entry);
    entry = *destination;
    copies.push_back({group, source, *destination, filled});
  }
  return Status();
}

Result<std::vector<ModelCopy>> BlockManagerModel::reserve(SequenceName name, std::int64_t length) {
  RECTO_RETURN_IF_ERROR(check_running({name}));
  if (length < 0 || length > most_tokens()) return Status::invalid_input("length");
  return attempt([&](BlockManagerModel& trial) -> Result<std::vector<ModelCopy>> {
    ModelSequence& sequence = trial.sequences_.at(name);
    std::vector<ModelCopy> copies;
    if (length <= sequence.context) return copies;
    trial.drop_unseen(sequence.device, sequence.context);
    RECTO_RETURN_IF_ERROR(trial.own_tail(sequence, copies));
    RECTO_RETURN_IF_ERROR(trial.extend(sequence.device, length));
    return copies;
  });
}

Result<std::vector<ModelCopy>> BlockManagerModel::append(SequenceName name, std::int64_t count) {
  RECTO_RETURN_IF_ERROR(check_running({name}));
  const std::int64_t context = sequences_.at(name).context;
  if (count < 0 || context + count > most_tokens()) return Status::invalid_input("count");
  Result<std::vector<ModelCopy>> copies =
      count == 0 ? std::vector<ModelCopy>() : reserve(name, context + count);
  if (copies.is_ok()) sequences_.at(name).context += count;
  return copies;
}

// All give back before anybody takes.
Result<std::vector<ModelCopy>> BlockManagerModel::append(const std::vector<SequenceName>& names) {
  RECTO_RETURN_IF_ERROR(check_running(names));
  for (const SequenceName name : names) {
    if (sequences_.at(name).context + 1 > most_tokens()) return Status::invalid_input("length");
  }
  return attempt([&](BlockManagerModel& trial) -> Result<std::vector<ModelCopy>> {
    for (const SequenceName name : names) {
      ModelSequence& sequence = trial.sequences_.at(name);
      trial.drop_unseen(sequence.device, sequence.context);
    }
    std::vector<ModelCopy> copies;
    for (const SequenceName name : names) {
      ModelSequence& sequence = trial.sequences_.at(name);
      RECTO_RETURN_IF_ERROR(trial.own_tail(sequence, copies));
      RECTO_RETURN_IF_ERROR(trial.extend(sequence.device, sequence.context + 1));
      ++sequence.context;
    }
    return copies;
  });
}

std::int64_t BlockManagerModel::most_known_places() const {
  if (options_.prefix.max_nodes) return *options_.prefix.max_nodes;
  std::int64_t most = options_.num_blocks.value();
  for (const cache::LayerGroup& group : options_.groups) {
    if (!group.window) return most;
  }
  const std::int64_t length = options_.max_blocks_per_sequence.value();
  most += options_.max_sequences * length;
  return most + options_.prefix.max_pins * length;
}

// What was used least recently is forgotten for it; exhausted if there is still no room to know it.
Status BlockManagerModel::publish_block(ModelSequence& sequence, std::int32_t text) {
  TextChain chain = sequence.published;
  chain.push_back(text);
  const std::int64_t most = most_known_places() - places_of(text);
  while (!is_known(chain) && num_known_places() > most) {
    const std::vector<BlockName> victims = evictable();
    if (victims.empty()) return Status::exhausted("nodes");
    forget(victims.front());
    ++statistics_.evicted;
    ++statistics_.evicted_for_nodes;
  }
  for (std::int32_t group = 0; group < num_groups(); ++group) {
    const BlockName block = sequence.device[static_cast<std::size_t>(group)][chain.size() - 1];
    if (block == kGone) continue;
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

Status BlockManagerModel::commit(SequenceName name, const CacheText& text) {
  RECTO_RETURN_IF_ERROR(check_running({name}));
  RECTO_RETURN_IF_ERROR(check_text(text));
  ModelSequence& sequence = sequences_.at(name);
  if (text.length() < sequence.context) return Status::invalid_input("fewer ids than context");
  // What found no room is tried again when another block is full.
  if (sequence.context / block_size() <= sequence.committed) return Status();
  sequence.committed = sequence.context / block_size();
  if (options_.prefix.caching == cache::PrefixCaching::kOff || sequence.saw_reset) return Status();
  CacheText whole = text;
  whole.keys = sequence.keys;
  while (std::ssize(sequence.published) < sequence.context / block_size()) {
    const auto number = number_of(whole, std::ssize(sequence.published));
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

// The same context, without what lies behind it.
ModelSequence BlockManagerModel::branch(const ModelSequence& parent) const {
  ModelSequence child = parent;
  for (auto& row : child.device) {
    row.resize(static_cast<std::size_t>(blocks_of(parent.context)), kGone);
  }
  return child;
}

Result<SequenceName> BlockManagerModel::fork(SequenceName parent) {
  RECTO_RETURN_IF_ERROR(check_running({parent}));
  if (std::ssize(sequences_) >= options_.max_sequences) return Status::exhausted("sequences");
  return name_sequence(branch(sequences_.at(parent)));
}

Result<std::vector<SequenceName>> BlockManagerModel::beam_step(
    const std::vector<SequenceName>& parents, const std::vector<std::int32_t>& parent_of) {
  RECTO_RETURN_IF_ERROR(check_running(parents));
  for (const std::int32_t parent : parent_of) {
    if (parent < 0 || parent >= std::ssize(parents)) return Status::invalid_input("parent_of");
  }
  const auto after = std::ssize(sequences_) - std::ssize(parents) + std::ssize(parent_of);
  if (after > options_.max_sequences) return Status::exhausted("sequences");
  std::vector<SequenceName> children;
  std::set<SequenceName> continued;
  for (const std::int32_t index : parent_of) {
    const SequenceName parent = parents[static_cast<std::size_t>(index)];
    const bool is_first = continued.insert(parent).second;
    children.push_back(is_first ? parent : name_sequence(branch(sequences_.at(parent))));
  }
  for (const SequenceName parent : parents) {
    if (!continued.contains(parent)) RECTO_RETURN_IF_ERROR(release(parent));
  }
  return children;
}

Status BlockManagerModel::truncate(SequenceName name, std::int64_t length) {
  RECTO_RETURN_IF_ERROR(check_running({name}));
  ModelSequence& sequence = sequences_.at(name);
  if (length < 0 || length > sequence.context) return Status::invalid_input("length");
  const std::int64_t blocks = blocks_of(length);
  for (std::int32_t group = 0; group < num_groups(); ++group) {
    for (std::int64_t i = first_seen(group, length); i < blocks; ++i) {
      const auto& row = sequence.device[static_cast<std::size_t>(group)];
      if (row[static_cast<std::size_t>(i)] == kGone) return Status::invalid_input("given back");
    }
  }
  drop_from(sequence.device, blocks);
  sequence.context = length;
  const auto whole = static_cast<std::size_t>(length / block_size());
  sequence.published.resize(std::min(sequence.published.size(), whole));
  sequence.committed = std::min(sequence.committed, length / block_size());
  return Status();
}

Status BlockManagerModel::release(SequenceName name) {
  const auto found = sequences_.find(name);
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

Status BlockManagerModel::preempt(SequenceName name) {
  RECTO_RETURN_IF_ERROR(check_running({name}));
  ModelSequence& sequence = sequences_.at(name);
  drop_from(sequence.device, 0);
  sequence.state = cache::SequenceState::kPreempted;
  sequence.context = 0;
  sequence.published.clear();
  sequence.committed = 0;
  return Status();
}

}  // namespace recto::verify

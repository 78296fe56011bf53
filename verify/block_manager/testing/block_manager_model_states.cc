// The model's counts and states, computed anew at each call.

#include <algorithm>

#include "verify/block_manager/testing/block_manager_model.h"

namespace recto::verify {

HolderCounts BlockManagerModel::holders(ModelTable ModelSequence::*table) const {
  HolderCounts holders;
  for (const auto& [index, sequence] : sequences_) {
    for (const auto& row : sequence.*table) {
      for (const BlockId block : row) {
        if (block != cache::kNoBlock) ++holders[block];
      }
    }
  }
  return holders;
}

std::int64_t BlockManagerModel::free() const {
  return options_.num_blocks.value() - options_.null_blocks.value() - std::ssize(blocks_);
}

std::int64_t BlockManagerModel::host_free() const {
  return options_.host_blocks.value() - std::ssize(holders(&ModelSequence::host));
}

BlockCount BlockManagerModel::available_blocks() const {
  return BlockCount(free() + std::ssize(eviction_order()));
}

const FoundKey* BlockManagerModel::content(BlockId block) const {
  for (const auto& [key, found] : findable_) {
    if (found == block) return &key;
  }
  return nullptr;
}

bool BlockManagerModel::is_pinned(BlockId block) const {
  const FoundKey* key = content(block);
  if (key == nullptr) return false;
  return std::ranges::any_of(pins_, [key](const auto& pin) {
    return pin.second.size() >= key->chain.size() &&
           std::equal(key->chain.begin(), key->chain.end(), pin.second.begin());
  });
}

std::vector<BlockId> BlockManagerModel::eviction_order() const {
  const HolderCounts held = holders();
  std::vector<BlockId> blocks;
  for (const auto& [key, block] : findable_) {
    if (!held.contains(block) && !is_pinned(block)) blocks.push_back(block);
  }
  std::ranges::sort(blocks, {}, [this](BlockId block) { return blocks_.at(block).idle_since; });
  return blocks;
}

// For each held block: which slots hold a token that a later row of a holder sees. During a swap
// the tokens count where they come from.
std::map<BlockId, std::vector<bool>> BlockManagerModel::used_slots(
    ModelTable ModelSequence::*table) const {
  const cache::SequenceState coming = table == &ModelSequence::host
                                          ? cache::SequenceState::kSwappingOut
                                          : cache::SequenceState::kSwappingIn;
  std::map<BlockId, std::vector<bool>> used;
  for (const auto& [index, sequence] : sequences_) {
    const std::int64_t context = sequence.state == coming ? 0 : sequence.context;
    for (std::size_t group = 0; group < (sequence.*table).size(); ++group) {
      const std::optional<TokenCount> window = options_.groups[group].window;
      const std::int64_t out_of_sight = window ? context - window->value() : -1;
      const auto& row = (sequence.*table)[group];
      for (std::size_t i = 0; i < row.size(); ++i) {
        if (row[i] == cache::kNoBlock) continue;
        std::vector<bool>& slots = used[row[i]];
        slots.resize(static_cast<std::size_t>(block_size()));
        for (std::size_t offset = 0; offset < slots.size(); ++offset) {
          const auto token = static_cast<std::int64_t>(i * slots.size() + offset);
          if (token < context && token > out_of_sight) slots[offset] = true;
        }
      }
    }
  }
  return used;
}

cache::GroupStates BlockManagerModel::group_states(std::int32_t group) const {
  const auto used = used_slots(&ModelSequence::device);
  cache::GroupStates states;
  for (const auto& [block, known] : blocks_) {
    if (known.group != group) continue;
    const auto slots = used.find(block);
    if (slots == used.end()) {
      states.cached += options_.block_size;
      if (is_pinned(block)) states.pinned += options_.block_size;
      continue;
    }
    const TokenCount filled(std::ranges::count(slots->second, true));
    states.used += filled;
    states.held_empty += options_.block_size - filled;
  }
  return states;
}

cache::PoolStates BlockManagerModel::states() const {
  cache::PoolStates states;
  for (std::int32_t group = 0; group < num_groups(); ++group) {
    const cache::GroupStates part = group_states(group);
    states.used += part.used;
    states.held_empty += part.held_empty;
    states.cached += part.cached;
    states.pinned += part.pinned;
  }
  states.free = free() * options_.block_size;
  states.overhead = options_.null_blocks.value() * options_.block_size;
  return states;
}

cache::PoolStates BlockManagerModel::host_states() const {
  cache::PoolStates states;
  for (const auto& [block, slots] : used_slots(&ModelSequence::host)) {
    const TokenCount filled(std::ranges::count(slots, true));
    states.used += filled;
    states.held_empty += options_.block_size - filled;
  }
  states.free = host_free() * options_.block_size;
  return states;
}

Result<cache::SequenceView> BlockManagerModel::view(cache::SequenceHandle handle) const {
  const auto found = sequences_.find(handle.index);
  if (found == sequences_.end() || found->second.is_released) {
    return Status::invalid_input("no such sequence");
  }
  const ModelSequence& sequence = found->second;
  const std::int64_t blocks = sequence.device.empty() ? 0 : std::ssize(sequence.device.front());
  return cache::SequenceView{.state = sequence.state,
                             .context_length = TokenCount(sequence.context),
                             .capacity = blocks * options_.block_size,
                             .published = BlockCount(std::ssize(sequence.published))};
}

}  // namespace recto::verify

// What there is, counted anew each time.

#include "verify/models/block_manager_model.h"

#include <algorithm>

namespace recto::verify {
namespace {

std::map<BlockName, std::int64_t> count_holders(
    const std::map<SequenceName, ModelSequence>& sequences, ModelTable ModelSequence::*table) {
  std::map<BlockName, std::int64_t> holders;
  for (const auto& [name, sequence] : sequences) {
    for (const auto& row : sequence.*table) {
      for (const BlockName block : row) {
        if (block != kGone) ++holders[block];
      }
    }
  }
  return holders;
}

}  // namespace

std::map<BlockName, std::int64_t> BlockManagerModel::device_holders() const {
  return count_holders(sequences_, &ModelSequence::device);
}

std::map<BlockName, std::int64_t> BlockManagerModel::host_holders() const {
  return count_holders(sequences_, &ModelSequence::host);
}

std::int64_t BlockManagerModel::free() const {
  return options_.num_blocks.value() - options_.null_blocks.value() - std::ssize(blocks_);
}

std::int64_t BlockManagerModel::host_free() const {
  return options_.host_blocks.value() - std::ssize(host_holders());
}

std::int64_t BlockManagerModel::available() const { return free() + std::ssize(evictable()); }

const FoundKey* BlockManagerModel::content(BlockName block) const {
  for (const auto& [key, found] : findable_) {
    if (found == block) return &key;
  }
  return nullptr;
}

bool BlockManagerModel::is_pinned(BlockName block) const {
  const FoundKey* key = content(block);
  if (key == nullptr) return false;
  return std::ranges::any_of(pins_, [key](const auto& pin) {
    return pin.second.size() >= key->chain.size() &&
           std::equal(key->chain.begin(), key->chain.end(), pin.second.begin());
  });
}

std::vector<BlockName> BlockManagerModel::evictable() const {
  const std::map<BlockName, std::int64_t> holders = device_holders();
  std::vector<BlockName> blocks;
  for (const auto& [key, block] : findable_) {
    if (!holders.contains(block) && !is_pinned(block)) blocks.push_back(block);
  }
  std::ranges::sort(blocks, {}, [this](BlockName block) { return blocks_.at(block).idle_since; });
  return blocks;
}

// Of each block that somebody holds, which slots hold a token that a later row of a holder sees.
// What is being copied is still where it was.
std::map<BlockName, std::vector<bool>> BlockManagerModel::used_slots(
    const ModelTable ModelSequence::*table) const {
  const bool is_host = table == &ModelSequence::host;
  const cache::SequenceState coming =
      is_host ? cache::SequenceState::kSwappingOut : cache::SequenceState::kSwappingIn;
  std::map<BlockName, std::vector<bool>> used;
  for (const auto& [name, sequence] : sequences_) {
    const std::int64_t context = sequence.state == coming ? 0 : sequence.context;
    for (std::size_t group = 0; group < (sequence.*table).size(); ++group) {
      const std::optional<TokenCount> window = options_.groups[group].window;
      const std::int64_t out_of_sight = window ? context - window->value() : -1;
      const auto& row = (sequence.*table)[group];
      for (std::size_t i = 0; i < row.size(); ++i) {
        if (row[i] == kGone) continue;
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
      states.cached += TokenCount(block_size());
      if (is_pinned(block)) states.pinned += TokenCount(block_size());
      continue;
    }
    const TokenCount filled(std::ranges::count(slots->second, true));
    states.used += filled;
    states.held_empty += TokenCount(block_size()) - filled;
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

Result<cache::SequenceView> BlockManagerModel::view(SequenceName name) const {
  const auto found = sequences_.find(name);
  if (found == sequences_.end() || found->second.is_released) {
    return Status::invalid_input("no such sequence");
  }
  const ModelSequence& sequence = found->second;
  const std::int64_t blocks = sequence.device.empty() ? 0 : std::ssize(sequence.device.front());
  return cache::SequenceView{.state = sequence.state,
                             .context_length = TokenCount(sequence.context),
                             .capacity = TokenCount(blocks * block_size()),
                             .published = BlockCount(std::ssize(sequence.published))};
}

}  // namespace recto::verify

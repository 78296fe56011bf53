// What happened, by the model before and after a command.

#include <algorithm>

#include "verify/models/lockstep.h"

namespace recto::verify {
namespace {

// The slots of its i-th block that a sequence uses: [first, second).
std::pair<std::int64_t, std::int64_t> used_of(const BlockManagerModel& model,
                                              const ModelSequence& sequence, std::size_t group,
                                              std::size_t index) {
  const std::int64_t size = model.options().block_size.value();
  const auto begin = static_cast<std::int64_t>(index) * size;
  const auto window = model.options().groups[group].window;
  const std::int64_t seen = window ? sequence.context - window->value() + 1 : 0;
  const std::int64_t first = std::clamp(seen, begin, begin + size);
  return {first, std::max(first, std::min(sequence.context, begin + size))};
}

bool is_used_unevenly(const BlockManagerModel& model) {
  std::map<BlockName, std::pair<std::int64_t, std::int64_t>> used;
  for (const auto& [name, sequence] : model.sequences()) {
    for (std::size_t group = 0; group < sequence.device.size(); ++group) {
      const auto& row = sequence.device[group];
      for (std::size_t i = 0; i < row.size(); ++i) {
        if (row[i] == kGone) continue;
        const auto range = used_of(model, sequence, group, i);
        if (used.try_emplace(row[i], range).first->second != range) return true;
      }
    }
  }
  return false;
}

}  // namespace

void Lockstep::count_changes(const BlockManagerModel& before) {
  const cache::CacheStatistics& then = before.statistics();
  const cache::CacheStatistics& now = model_.statistics();
  happenings_.count(Happening::kEviction, now.evicted - then.evicted);
  happenings_.count(Happening::kDuplicate, now.duplicates - then.duplicates);
  happenings_.count(Happening::kOverwritten, now.overwritten - then.overwritten);
  happenings_.count(Happening::kEvictionForNode, now.evicted_for_nodes - then.evicted_for_nodes);
  happenings_.count(Happening::kNoNode, now.no_node - then.no_node);
  happenings_.count(Happening::kTooManyItems, now.too_many_items - then.too_many_items);
  happenings_.count_if(model_.available() == 0, Happening::kFullPool);
  happenings_.count_if(is_used_unevenly(model_), Happening::kUsedUnevenly);
  const auto holders = before.device_holders();
  for (const auto& [name, sequence] : model_.sequences()) {
    const auto old = before.sequences().find(name);
    if (old == before.sequences().end()) continue;
    const ModelTable& table = old->second.device;
    for (std::size_t group = 0; group < std::min(table.size(), sequence.device.size()); ++group) {
      const auto& row = sequence.device[group];
      for (std::size_t i = 0; i < std::min(table[group].size(), row.size()); ++i) {
        if (row[i] != kGone || table[group][i] == kGone) continue;
        const bool is_shared = holders.at(table[group][i]) > 1;
        happenings_.count(Happening::kWindowFreeing);
        happenings_.count_if(is_shared, Happening::kWindowFreeingOfShared);
      }
    }
  }
}

void Lockstep::count_hits(const BlockManagerModel& before, const Actor& actor) {
  const ModelSequence& sequence = model_.sequences().at(actor.name);
  const auto hit = static_cast<std::size_t>(sequence.context / block_size());
  if (hit == 0) return;
  const auto holders = before.device_holders();
  for (const auto& row : sequence.device) {
    happenings_.count_if(row.front() == kGone, Happening::kHitBehindGap);
    for (std::size_t i = 0; i < hit; ++i) {
      if (row[i] == kGone) continue;
      const bool is_live = holders.contains(row[i]);
      const bool is_pinned = before.is_pinned(row[i]);
      happenings_.count_if(is_live, Happening::kHitOnLive);
      happenings_.count_if(!is_live && is_pinned, Happening::kHitOnPinned);
      happenings_.count_if(!is_live && !is_pinned, Happening::kHitOnEvictable);
    }
  }
  happenings_.count_if(actor.text.keys != cache::CacheKeys{}, Happening::kHitWithKeys);
  happenings_.count_if(
      !actor.text.items.empty() && actor.text.items.front().start < sequence.context,
      Happening::kHitWithItems);
}

void Lockstep::count_copies(const BlockManagerModel& before, const std::vector<ModelCopy>& copies) {
  const auto holders = before.device_holders();
  std::map<BlockName, std::int64_t> uses;
  for (const ModelCopy& copy : copies) {
    happenings_.count(Happening::kCopyOnWrite);
    happenings_.count_if(holders.at(copy.source) == 1, Happening::kCopyOfPinned);
    happenings_.count_if(++uses[copy.source] == 2, Happening::kCopiesOfOne);
  }
  for (const Actor& actor : actors_) {
    const auto old = before.sequences().find(actor.name);
    const auto length = static_cast<std::size_t>(old->second.context);
    const std::int64_t capacity = std::ssize(old->second.device.front()) * block_size();
    if (actor.tags.size() == length) continue;  // did not append
    happenings_.count_if(capacity > static_cast<std::int64_t>(length) + block_size(),
                         Happening::kLookahead);
    // Whose next token is another, behind the same ones in the same blocks?
    const auto differs = [&](const Actor& other) {
      return other.tags.size() > length && length > 0 && other.tags[length] != actor.tags[length] &&
             other.tags[length - 1] == actor.tags[length - 1];
    };
    happenings_.count(Happening::kDivergence, std::ranges::count_if(actors_, differs));
  }
}

void Lockstep::count_reset(const BlockManagerModel& before) {
  const auto is_away = [](const auto& entry) {
    return entry.second.state == cache::SequenceState::kSwapped;
  };
  happenings_.count_if(!before.pins().empty(), Happening::kResetWithPins);
  happenings_.count_if(!transfers_.empty(), Happening::kResetInFlight);
  happenings_.count_if(!all_in(cache::SequenceState::kRunning).empty(), Happening::kResetWithLive);
  happenings_.count_if(std::ranges::any_of(before.sequences(), is_away),
                       Happening::kResetWithSwapped);
}

}  // namespace recto::verify

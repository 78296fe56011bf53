// Counts the coverage events of a command, from the model before and after it.

#include <algorithm>
#include <set>

#include "verify/block_manager/testing/lockstep.h"

namespace recto::verify {
namespace {

using cache::SequenceState;
using cache::testing::CacheAnswer;
using cache::testing::CacheCall;
using cache::testing::CacheText;
using cache::testing::CacheWalk;

// The slots that a sequence uses in its block number `index`: [first, second).
std::pair<std::int64_t, std::int64_t> used_of(const cache::CacheOptions& options,
                                              const ModelSequence& sequence, std::size_t group,
                                              std::size_t index) {
  const std::int64_t size = options.block_size.value();
  const auto begin = static_cast<std::int64_t>(index) * size;
  const auto window = options.groups[group].window;
  const std::int64_t seen = window ? sequence.context - window->value() + 1 : 0;
  const std::int64_t first = std::clamp(seen, begin, begin + size);
  return {first, std::max(first, std::min(sequence.context, begin + size))};
}

bool is_used_unevenly(const BlockManagerModel& model) {
  std::map<BlockId, std::pair<std::int64_t, std::int64_t>> used;
  for (const auto& [name, sequence] : model.sequences()) {
    for (std::size_t group = 0; group < sequence.device.size(); ++group) {
      const auto& row = sequence.device[group];
      for (std::size_t i = 0; i < row.size(); ++i) {
        if (row[i] == cache::kNoBlock) continue;
        const auto range = used_of(model.options(), sequence, group, i);
        if (used.try_emplace(row[i], range).first->second != range) return true;
      }
    }
  }
  return false;
}

// The entries of all tables of these sequences.
std::vector<BlockId> entries_of(const BlockManagerModel& model,
                                const std::vector<cache::SequenceHandle>& names,
                                ModelTable ModelSequence::*table) {
  std::vector<BlockId> entries;
  for (const cache::SequenceHandle name : names) {
    for (const auto& row : model.at(name).*table) {
      std::ranges::copy_if(row, std::back_inserter(entries),
                           [](BlockId block) { return block != cache::kNoBlock; });
    }
  }
  return entries;
}

}  // namespace

void Lockstep::count_events(const BlockManagerModel& before, const CacheCall& call,
                            const CacheAnswer& answer) {
  using enum cache::testing::CommandKind;
  const bool is_done = answer.status.is_ok();
  const cache::SequenceHandle first =
      call.sequences.empty() ? cache::SequenceHandle{} : call.sequences.front();
  if (call.kind == kTruncate && !is_done) {
    const ModelSequence& kept = model_.at(first);
    const bool is_within = call.count.value() >= 0 && call.count.value() <= kept.context;
    count_if(kept.state == SequenceState::kRunning && is_within, "truncates refused by a window");
  }
  if (!is_done) return;
  count_changes(before);
  switch (call.kind) {
    case kAdmit:
      return count_hits(before, answer.sequences.front(), call.text);
    case kResume:
      count_if(answer.length > TokenCount(0), "resumes with a hit");
      return count_hits(before, first, call.text);
    case kAppend:
    case kAppendBatch:
    case kReserve:
      count_copies(before, answer.copies);
      return count_written(before);
    case kCommit:
      return count_if(model_.at(first).saw_reset, "commits after a reset");
    case kFork:
      return count_if(before.at(first).device.front().size() >
                          model_.at(answer.sequences.front()).device.front().size(),
                      "forks of sequences with lookahead");
    case kBeamStep: {
      const std::set<std::int32_t> continued(call.parent_of.begin(), call.parent_of.end());
      coverage_.count("beams of one parent", std::ssize(call.parent_of) - std::ssize(continued));
      return coverage_.count("beams dropped", std::ssize(call.sequences) - std::ssize(continued));
    }
    case kTruncate:
      return count_truncation(before.at(first), model_.at(first));
    case kSwapOut:
    case kSwapIn:
      return count_swap(call, answer.swaps);
    case kPin:
      return count_pin(before, model_.pins().at(answer.pin.index));
    case kReset:
      return count_reset(before);
    default:
      return;
  }
}

void Lockstep::count_changes(const BlockManagerModel& before) {
  const cache::CacheStatistics& then = before.statistics();
  const cache::CacheStatistics& now = model_.statistics();
  coverage_.count("evictions", now.evicted - then.evicted);
  coverage_.count("duplicates", now.duplicates - then.duplicates);
  coverage_.count("overwritten blocks", now.overwritten - then.overwritten);
  coverage_.count("evictions for a node", now.evicted_for_nodes - then.evicted_for_nodes);
  coverage_.count("commits without a free node", now.no_node - then.no_node);
  coverage_.count("commits that met too many items", now.too_many_items - then.too_many_items);
  count_if(model_.available_blocks() == BlockCount(0), "full pools");
  count_if(is_used_unevenly(model_), "blocks used unevenly");
  const HolderCounts holders = before.holders();
  for (const auto& [name, sequence] : model_.sequences()) {
    const auto old = before.sequences().find(name);
    if (old == before.sequences().end()) continue;
    const ModelTable& table = old->second.device;
    for (std::size_t group = 0; group < std::min(table.size(), sequence.device.size()); ++group) {
      const auto& row = sequence.device[group];
      for (std::size_t i = 0; i < std::min(table[group].size(), row.size()); ++i) {
        if (row[i] != cache::kNoBlock || table[group][i] == cache::kNoBlock) continue;
        coverage_.count("blocks given back by windows");
        count_if(holders.at(table[group][i]) > 1, "blocks given back by windows, shared");
      }
    }
  }
}

void Lockstep::count_hits(const BlockManagerModel& before, cache::SequenceHandle name,
                          const CacheText& text) {
  const ModelSequence& sequence = model_.at(name);
  const auto hit = static_cast<std::size_t>(sequence.context / block_size());
  if (hit == 0) return;
  const HolderCounts holders = before.holders();
  for (const auto& row : sequence.device) {
    count_if(row.front() == cache::kNoBlock, "hits behind a gap");
    for (std::size_t i = 0; i < hit; ++i) {
      if (row[i] == cache::kNoBlock) continue;
      const bool is_live = holders.contains(row[i]);
      const bool is_pinned = before.is_pinned(row[i]);
      count_if(is_live, "hits on live blocks");
      count_if(!is_live && is_pinned, "hits on pinned blocks");
      count_if(!is_live && !is_pinned, "hits on evictable blocks");
    }
  }
  count_if(text.keys != cache::CacheKeys{}, "hits with keys");
  count_if(!text.items.empty() && text.items.front().start < sequence.context, "hits with items");
}

void Lockstep::count_copies(const BlockManagerModel& before,
                            const std::vector<cache::BlockCopy>& copies) {
  const HolderCounts holders = before.holders();
  HolderCounts uses;
  for (const cache::BlockCopy& copy : copies) {
    count_if(holders.at(copy.source) == 1, "copies of pinned blocks");
    count_if(++uses[copy.source] == 2, "answers with two copies of a block");
  }
}

// Counts tokens appended into room reserved ahead, and sequences that append different tokens after
// the same tokens in the same blocks.
void Lockstep::count_written(const BlockManagerModel& before) {
  for (const CacheWalk::Actor& actor : walk_.actors()) {
    const ModelSequence& old = before.at(name_of(actor.handle));
    const auto length = static_cast<std::size_t>(old.context);
    if (actor.tags.size() == length) continue;  // did not append
    const std::int64_t capacity = std::ssize(old.device.front()) * block_size();
    count_if(capacity > old.context + block_size(), "tokens in room held ahead");
    const auto differs = [&](const CacheWalk::Actor& other) {
      return other.tags.size() > length && length > 0 && other.tags[length] != actor.tags[length] &&
             other.tags[length - 1] == actor.tags[length - 1];
    };
    coverage_.count("divergences", std::ranges::count_if(walk_.actors(), differs));
  }
}

void Lockstep::count_truncation(const ModelSequence& before, const ModelSequence& after) {
  count_if(after.published.size() < before.published.size(), "truncates below what is published");
  if (after.context % block_size() == 0) return;
  const HolderCounts holders = model_.holders();
  for (const auto& row : after.device) {
    count_if(holders.at(row.back()) > 1, "truncates into a shared block");
  }
}

void Lockstep::count_swap(const CacheCall& call, const std::vector<cache::SwapCopy>& copies) {
  if (call.kind == cache::testing::CommandKind::kSwapIn) {
    const auto entries = entries_of(model_, call.sequences, &ModelSequence::host);
    count_if(entries.size() > copies.size(), "swaps in with sharing");
    std::set<BlockId> sources;
    for (const cache::SwapCopy& copy : copies) {
      count_if(!sources.insert(copy.host).second, "host blocks that come back twice");
    }
    return;
  }
  const auto entries = entries_of(model_, call.sequences, &ModelSequence::device);
  count_if(entries.size() > copies.size(), "swaps out with sharing");
  const HolderCounts holders = model_.holders();
  for (const cache::SwapCopy& copy : copies) {
    const bool is_kept = holders.at(copy.device) > std::ranges::count(entries, copy.device);
    count_if(is_kept, "swaps out of blocks that others keep");
    count_if(model_.content(copy.device) != nullptr, "swaps out of blocks that can be found");
  }
}

void Lockstep::count_pin(const BlockManagerModel& before, const TextChain& chain) {
  const HolderCounts holders = before.holders();
  for (const auto& [key, block] : before.findable()) {
    if (key.chain != chain) continue;
    const bool is_live = holders.contains(block);
    const bool is_pinned = before.is_pinned(block);
    count_if(is_live, "pins of live blocks");
    count_if(!is_live && !is_pinned, "pins of idle blocks");
    count_if(is_pinned, "pins of pinned blocks");
  }
}

void Lockstep::count_reset(const BlockManagerModel& before) {
  const auto is_any_in = [&before](SequenceState state) {
    return std::ranges::any_of(before.sequences(), [state](const auto& entry) {
      return entry.second.state == state && !entry.second.is_released;
    });
  };
  count_if(!before.pins().empty(), "resets with pins");
  count_if(!before.transfers().empty(), "resets during a swap");
  count_if(is_any_in(SequenceState::kRunning), "resets with live sequences");
  count_if(is_any_in(SequenceState::kSwapped), "resets with swapped sequences");
}

}  // namespace recto::verify

// What is found, given out and given back; sequences that come.

#include "verify/models/block_manager_model.h"

#include <algorithm>
#include <set>

namespace recto::verify {
namespace {

// Does `chain` begin with the first `count` of `prefix`?
bool begins_with(const TextChain& chain, const TextChain& prefix, std::size_t count) {
  return chain.size() >= count && std::equal(prefix.begin(), prefix.begin() + count, chain.begin());
}

TextChain first_of(const TextChain& chain, std::int64_t blocks) {
  return TextChain(chain.begin(), chain.begin() + blocks);
}

}  // namespace

BlockManagerModel::BlockManagerModel(const cache::CacheOptions& options) : options_(options) {}

std::int32_t BlockManagerModel::num_groups() const {
  return static_cast<std::int32_t>(options_.groups.size());
}

std::int64_t BlockManagerModel::most_tokens() const {
  return options_.max_blocks_per_sequence.value() * block_size();
}

std::int64_t BlockManagerModel::blocks_of(std::int64_t tokens) const {
  return ceil_div(tokens, block_size());
}

Status BlockManagerModel::check_text(const CacheText& text) const {
  return has_proper_items(text) ? Status() : Status::invalid_input("items");
}

Status BlockManagerModel::check_state(const std::vector<SequenceName>& names,
                                      cache::SequenceState state) const {
  std::set<SequenceName> seen;
  for (const SequenceName name : names) {
    const auto found = sequences_.find(name);
    if (found == sequences_.end() || found->second.is_released) {
      return Status::invalid_input("no such sequence");
    }
    if (found->second.state != state) return Status::invalid_input("in another state");
    if (!seen.insert(name).second) return Status::invalid_input("named twice");
  }
  return Status();
}

Status BlockManagerModel::check_running(const std::vector<SequenceName>& names) const {
  return check_state(names, cache::SequenceState::kRunning);
}

Status BlockManagerModel::check_admission(const CacheText& prompt,
                                          std::optional<std::int64_t> room) const {
  RECTO_RETURN_IF_ERROR(check_text(prompt));
  if (prompt.length() < 1 || prompt.length() > most_tokens()) {
    return Status::invalid_input("prompt length");
  }
  if (room && (*room < 0 || *room > most_tokens())) return Status::invalid_input("room");
  return Status();
}

std::int64_t BlockManagerModel::first_seen(std::int32_t group, std::int64_t position) const {
  const std::optional<TokenCount> window = options_.groups[static_cast<std::size_t>(group)].window;
  if (!window) return 0;
  return std::max<std::int64_t>(0, position - window->value() + 1) / block_size();
}

std::optional<std::int32_t> BlockManagerModel::number_of(const CacheText& text,
                                                         std::int64_t index) const {
  const BlockText block = block_text(text, block_size(), index);
  if (block.num_items > options_.prefix.max_items_per_block) return std::nullopt;
  return texts_->number(block);
}

// Known is what something stands for: findable blocks, sequences, pins, or texts behind it.
bool BlockManagerModel::is_known(const TextChain& chain) const {
  const auto leads_to = [&chain](const TextChain& other) {
    return begins_with(other, chain, chain.size());
  };
  for (const auto& [key, block] : findable_) {
    if (leads_to(key.chain)) return true;
  }
  for (const auto& [name, sequence] : sequences_) {
    if (leads_to(sequence.published)) return true;
  }
  return std::ranges::any_of(pins_, [&](const auto& pin) { return leads_to(pin.second); });
}

// One of its own, and as many as its words fill, each of which is as long as two tokens.
std::int64_t BlockManagerModel::places_of(std::int32_t text) const {
  return 1 + blocks_of(2 * std::ssize(texts_->text(text).words));
}

std::int64_t BlockManagerModel::num_known_places() const {
  std::set<TextChain> known;
  const auto add = [&known](const TextChain& chain) {
    for (std::size_t n = 1; n <= chain.size(); ++n) {
      known.insert(first_of(chain, static_cast<std::int64_t>(n)));
    }
  };
  for (const auto& [key, block] : findable_) add(key.chain);
  for (const auto& [name, sequence] : sequences_) add(sequence.published);
  for (const auto& [name, chain] : pins_) add(chain);
  std::int64_t places = 0;
  for (const TextChain& chain : known) places += places_of(chain.back());
  return places;
}

bool BlockManagerModel::has_all(const TextChain& chain, std::int64_t blocks) const {
  for (std::int32_t group = 0; group < num_groups(); ++group) {
    for (std::int64_t i = first_seen(group, blocks * block_size()); i < blocks; ++i) {
      if (!findable_.contains({first_of(chain, i + 1), group})) return false;
    }
  }
  return true;
}

TextChain BlockManagerModel::longest_hit(const CacheText& text, std::int64_t most_blocks) const {
  TextChain chain;
  for (std::int64_t i = 0; i < most_blocks; ++i) {
    const std::optional<std::int32_t> number = number_of(text, i);
    if (!number) break;
    chain.push_back(*number);
    if (!is_known(chain)) {
      chain.pop_back();
      break;
    }
  }
  while (!chain.empty() && !has_all(chain, static_cast<std::int64_t>(chain.size()))) {
    chain.pop_back();
  }
  return chain;
}

std::optional<BlockName> BlockManagerModel::take(std::int32_t group) {
  if (free() == 0) {
    const std::vector<BlockName> victims = evictable();
    if (victims.empty()) return std::nullopt;
    forget(victims.front());
    ++statistics_.evicted;
  }
  const BlockName name(static_cast<std::int64_t>(++names_));
  blocks_[name] = {.group = group};
  return name;
}

void BlockManagerModel::drop(BlockName& entry) {
  const BlockName block = std::exchange(entry, kGone);
  if (block == kGone || device_holders().contains(block)) return;
  if (content(block) != nullptr) {
    blocks_.at(block).idle_since = ++clock_;
  } else {
    blocks_.erase(block);
  }
}

// The end before the start.
void BlockManagerModel::drop_from(ModelTable& table, std::int64_t blocks) {
  const auto keep = static_cast<std::size_t>(blocks);
  std::size_t longest = 0;
  for (const auto& row : table) longest = std::max(longest, row.size());
  for (std::size_t i = longest; i-- > keep;) {
    for (auto& row : table) {
      if (i < row.size()) drop(row[i]);
    }
  }
  for (auto& row : table) row.resize(std::min(row.size(), keep));
}

void BlockManagerModel::drop_unseen(ModelTable& table, std::int64_t context) {
  for (std::int32_t group = 0; group < num_groups(); ++group) {
    auto& row = table[static_cast<std::size_t>(group)];
    const auto end = std::min(first_seen(group, context), static_cast<std::int64_t>(row.size()));
    for (std::int64_t i = end; i-- > 0;) drop(row[static_cast<std::size_t>(i)]);
  }
}

// Its content can't be found any more; without a holder it is free.
void BlockManagerModel::forget(BlockName block) {
  std::erase_if(findable_, [block](const auto& entry) { return entry.second == block; });
  if (!device_holders().contains(block)) blocks_.erase(block);
}

SequenceName BlockManagerModel::name_sequence(ModelSequence sequence) {
  const SequenceName name(static_cast<std::int64_t>(++names_));
  sequences_[name] = std::move(sequence);
  return name;
}

Status BlockManagerModel::extend(ModelTable& table, std::int64_t tokens) {
  for (std::int32_t group = 0; group < num_groups(); ++group) {
    auto& row = table[static_cast<std::size_t>(group)];
    while (static_cast<std::int64_t>(row.size()) < blocks_of(tokens)) {
      const std::optional<BlockName> block = take(group);
      if (!block) return Status::exhausted("blocks");
      row.push_back(*block);
    }
  }
  return Status();
}

Status BlockManagerModel::enter(ModelSequence& sequence, const CacheText& prompt,
                                std::optional<std::int64_t> room) {
  const TextChain hit = longest_hit(prompt, (prompt.length() - 1) / block_size());
  const auto hit_blocks = static_cast<std::int64_t>(hit.size());
  sequence.state = cache::SequenceState::kRunning;
  sequence.keys = prompt.keys;
  sequence.context = hit_blocks * block_size();
  sequence.published = hit;
  sequence.committed = hit_blocks;
  sequence.saw_reset = false;  // all it holds is computed from now on, or was found
  sequence.device.assign(options_.groups.size(), {});
  for (std::int32_t group = 0; group < num_groups(); ++group) {
    auto& row = sequence.device[static_cast<std::size_t>(group)];
    const std::int64_t begin = first_seen(group, sequence.context);
    for (std::int64_t i = 0; i < hit_blocks; ++i) {
      row.push_back(i < begin ? kGone : findable_.at({first_of(hit, i + 1), group}));
    }
  }
  RECTO_RETURN_IF_ERROR(extend(sequence.device, room.value_or(prompt.length())));
  if (available() < options_.watermark.value()) return Status::exhausted("watermark");
  if (options_.prefix.caching == cache::PrefixCaching::kOff) return Status();
  ++statistics_.queries;
  statistics_.query_tokens += prompt.length();
  statistics_.hit_tokens += sequence.context;
  return Status();
}

Result<ModelAdmission> BlockManagerModel::admit(const CacheText& prompt,
                                                std::optional<std::int64_t> room) {
  RECTO_RETURN_IF_ERROR(check_admission(prompt, room));
  if (std::ssize(sequences_) >= options_.max_sequences) return Status::exhausted("sequences");
  return attempt([&](BlockManagerModel& trial) -> Result<ModelAdmission> {
    const SequenceName name = trial.name_sequence({});
    ModelSequence& sequence = trial.sequences_.at(name);
    RECTO_RETURN_IF_ERROR(trial.enter(sequence, prompt, room));
    return ModelAdmission{.sequence = name, .hit = sequence.context};
  });
}

Result<std::int64_t> BlockManagerModel::resume(SequenceName name, const CacheText& prompt,
                                               std::optional<std::int64_t> room) {
  RECTO_RETURN_IF_ERROR(check_state({name}, cache::SequenceState::kPreempted));
  RECTO_RETURN_IF_ERROR(check_admission(prompt, room));
  return attempt([&](BlockManagerModel& trial) -> Result<std::int64_t> {
    ModelSequence& sequence = trial.sequences_.at(name);
    RECTO_RETURN_IF_ERROR(trial.enter(sequence, prompt, room));
    return sequence.context;
  });
}

std::int64_t BlockManagerModel::cached_prefix(const CacheText& prompt) const {
  if (!check_admission(prompt, {}).is_ok()) return 0;
  const TextChain hit = longest_hit(prompt, (prompt.length() - 1) / block_size());
  return static_cast<std::int64_t>(hit.size()) * block_size();
}

}  // namespace recto::verify

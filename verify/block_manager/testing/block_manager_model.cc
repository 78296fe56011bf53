// The model: prefix lookups, allocation and freeing of blocks, admission of sequences.

#include "verify/block_manager/testing/block_manager_model.h"

#include <algorithm>
#include <set>

namespace recto::verify {
namespace {

// Whether `prefix` is a prefix of `chain`.
bool begins_with(const TextChain& chain, const TextChain& prefix) {
  return chain.size() >= prefix.size() && std::equal(prefix.begin(), prefix.end(), chain.begin());
}

TextChain first_of(const TextChain& chain, std::int64_t blocks) {
  return TextChain(chain.begin(), chain.begin() + blocks);
}

}  // namespace

std::int64_t BlockManagerModel::max_tokens() const {
  return options_.max_blocks_per_sequence.value() * block_size();
}

bool BlockManagerModel::is_caching() const {
  return options_.prefix.caching == cache::PrefixCaching::kOn && max_known_places() > 0;
}

const ModelSequence& BlockManagerModel::at(cache::SequenceHandle handle) const {
  return sequences_.at(handle.index);
}

Status BlockManagerModel::check_state(std::span<const cache::SequenceHandle> handles,
                                      cache::SequenceState state) const {
  std::set<std::int32_t> seen;
  for (const cache::SequenceHandle handle : handles) {
    const auto found = sequences_.find(handle.index);
    if (found == sequences_.end() || found->second.is_released) {
      return Status::invalid_input("no such sequence");
    }
    if (found->second.state != state) return Status::invalid_input("in another state");
    if (!seen.insert(handle.index).second) return Status::invalid_input("named twice");
  }
  return Status();
}

Status BlockManagerModel::check_admission(const cache::Prompt& prompt,
                                          std::optional<TokenCount> room) const {
  if (!cache::testing::has_proper_items(prompt.tokens)) return Status::invalid_input("items");
  const auto is_possible = [this](std::int64_t tokens) {
    return tokens >= 0 && tokens <= max_tokens();
  };
  const auto length = std::ssize(prompt.tokens.ids);
  if (length == 0 || !is_possible(length)) return Status::invalid_input("prompt length");
  if (room && !is_possible(room->value())) return Status::invalid_input("room");
  return Status();
}

std::int64_t BlockManagerModel::first_seen(std::int32_t group, std::int64_t position) const {
  const std::optional<TokenCount> window = options_.groups[static_cast<std::size_t>(group)].window;
  if (!window) return 0;
  return std::max<std::int64_t>(0, position - window->value() + 1) / block_size();
}

std::optional<std::int32_t> BlockManagerModel::number_of(const cache::Prompt& text,
                                                         std::int64_t index) const {
  const cache::testing::BlockText block = cache::testing::block_text(text, block_size(), index);
  if (block.num_items > options_.prefix.max_items_per_block) return std::nullopt;
  const auto next = static_cast<std::int32_t>(texts_->by_number.size());
  const auto [entry, is_new] = texts_->numbers.try_emplace(block, next);
  if (is_new) texts_->by_number.push_back(&entry->first);
  return entry->second;
}

bool BlockManagerModel::met_words() const {
  return std::ranges::any_of(texts_->by_number,
                             [](const auto* text) { return !text->words.empty(); });
}

// Visits the chains that the index knows, apart from their prefixes: those of findable blocks,
// sequences and pins.
template <typename Visit>
void BlockManagerModel::visit_known(const Visit& visit) const {
  for (const auto& [key, block] : findable_) visit(key.chain);
  for (const auto& [index, sequence] : sequences_) visit(sequence.published);
  for (const auto& [index, chain] : pins_) visit(chain);
}

bool BlockManagerModel::is_known(const TextChain& chain) const {
  bool is_known = false;
  visit_known([&](const TextChain& known) { is_known = is_known || begins_with(known, chain); });
  return is_known;
}

// Index entries of a block: one for itself, and as many as its words fill. A word is as long as two
// tokens.
std::int64_t BlockManagerModel::places_of(std::int32_t number) const {
  return 1 + blocks_of(2 * std::ssize(text(number).words));
}

std::int64_t BlockManagerModel::num_known_places() const {
  std::set<TextChain> known;
  visit_known([&known](const TextChain& chain) {
    for (std::int64_t n = 1; n <= std::ssize(chain); ++n) known.insert(first_of(chain, n));
  });
  std::int64_t places = 0;
  for (const TextChain& chain : known) places += places_of(chain.back());
  return places;
}

// Whether a sequence that continues after the chain finds all blocks that it sees.
bool BlockManagerModel::has_all(const TextChain& chain) const {
  const std::int64_t blocks = std::ssize(chain);
  for (std::int32_t group = 0; group < num_groups(); ++group) {
    for (std::int64_t i = first_seen(group, blocks * block_size()); i < blocks; ++i) {
      if (!findable_.contains({first_of(chain, i + 1), group})) return false;
    }
  }
  return true;
}

TextChain BlockManagerModel::longest_hit(const cache::Prompt& text, std::int64_t max_blocks) const {
  TextChain chain;
  for (std::int64_t i = 0; i < max_blocks; ++i) {
    const std::optional<std::int32_t> number = number_of(text, i);
    if (!number) break;
    chain.push_back(*number);
    if (is_known(chain)) continue;
    chain.pop_back();
    break;
  }
  while (!chain.empty() && !has_all(chain)) chain.pop_back();
  return chain;
}

std::optional<BlockId> BlockManagerModel::take(std::int32_t group) {
  if (free() == 0) {
    const std::vector<BlockId> victims = eviction_order();
    if (victims.empty()) return std::nullopt;
    forget(victims.front());
    ++statistics_.evicted;
  }
  const BlockId block(new_number());
  blocks_[block] = {.group = group};
  return block;
}

void BlockManagerModel::drop(BlockId& entry) {
  const BlockId block = std::exchange(entry, cache::kNoBlock);
  if (block == cache::kNoBlock || holders().contains(block)) return;
  if (content(block) != nullptr) {
    blocks_.at(block).idle_since = ++clock_;
  } else {
    blocks_.erase(block);
  }
}

// Drops the last blocks first, because the eviction order depends on it.
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

void BlockManagerModel::drop_unseen(ModelSequence& sequence) {
  for (std::int32_t group = 0; group < num_groups(); ++group) {
    auto& row = sequence.device[static_cast<std::size_t>(group)];
    const auto end = std::min<std::int64_t>(first_seen(group, sequence.context), std::ssize(row));
    for (std::int64_t i = end; i-- > 0;) drop(row[static_cast<std::size_t>(i)]);
  }
}

// Removes the block's content from the prefix cache. A block without a holder becomes free.
void BlockManagerModel::forget(BlockId block) {
  std::erase_if(findable_, [block](const auto& entry) { return entry.second == block; });
  if (!holders().contains(block)) blocks_.erase(block);
}

cache::SequenceHandle BlockManagerModel::add(ModelSequence sequence) {
  const cache::SequenceHandle handle{.index = new_number()};
  sequences_[handle.index] = std::move(sequence);
  return handle;
}

Status BlockManagerModel::extend(ModelTable& table, std::int64_t tokens) {
  for (std::int32_t group = 0; group < num_groups(); ++group) {
    auto& row = table[static_cast<std::size_t>(group)];
    while (std::ssize(row) < blocks_of(tokens)) {
      const std::optional<BlockId> block = take(group);
      if (!block) return Status::exhausted("blocks");
      row.push_back(*block);
    }
  }
  return Status();
}

Status BlockManagerModel::enter(ModelSequence& sequence, const cache::Prompt& prompt,
                                std::optional<TokenCount> room) {
  const TokenCount length(std::ssize(prompt.tokens.ids));
  const TextChain hit = longest_hit(prompt, (length.value() - 1) / block_size());
  const std::int64_t blocks = std::ssize(hit);
  // The sequence computes everything after the hit from now on: an earlier reset does not matter.
  sequence = {.keys = prompt.keys,
              .context = blocks * block_size(),
              .device = ModelTable(options_.groups.size()),
              .host = std::move(sequence.host),
              .published = hit,
              .committed = blocks};
  for (std::int32_t group = 0; group < num_groups(); ++group) {
    auto& row = sequence.device[static_cast<std::size_t>(group)];
    const std::int64_t begin = first_seen(group, sequence.context);
    for (std::int64_t i = 0; i < blocks; ++i) {
      row.push_back(i < begin ? cache::kNoBlock : findable_.at({first_of(hit, i + 1), group}));
    }
  }
  RECTO_RETURN_IF_ERROR(extend(sequence.device, room.value_or(length).value()));
  if (available_blocks() < options_.watermark) return Status::exhausted("watermark");
  if (!is_caching()) return Status();
  ++statistics_.queries;
  statistics_.query_tokens += length.value();
  statistics_.hit_tokens += sequence.context;
  return Status();
}

Result<cache::Admission> BlockManagerModel::admit(const cache::Prompt& prompt,
                                                  std::optional<TokenCount> room) {
  RECTO_RETURN_IF_ERROR(check_admission(prompt, room));
  if (std::ssize(sequences_) >= options_.max_sequences) return Status::exhausted("sequences");
  return attempt([&](BlockManagerModel& trial) -> Result<cache::Admission> {
    const cache::SequenceHandle handle = trial.add({});
    RECTO_RETURN_IF_ERROR(trial.enter(trial.edit(handle), prompt, room));
    return cache::Admission{.sequence = handle, .hit = TokenCount(trial.edit(handle).context)};
  });
}

Result<TokenCount> BlockManagerModel::resume(cache::SequenceHandle handle,
                                             const cache::Prompt& prompt,
                                             std::optional<TokenCount> room) {
  RECTO_RETURN_IF_ERROR(check_state({&handle, 1}, cache::SequenceState::kPreempted));
  RECTO_RETURN_IF_ERROR(check_admission(prompt, room));
  return attempt([&](BlockManagerModel& trial) -> Result<TokenCount> {
    RECTO_RETURN_IF_ERROR(trial.enter(trial.edit(handle), prompt, room));
    return TokenCount(trial.edit(handle).context);
  });
}

TokenCount BlockManagerModel::cached_prefix(const cache::Prompt& prompt) const {
  if (!check_admission(prompt, {}).is_ok()) return {};
  const std::int64_t max_blocks = (std::ssize(prompt.tokens.ids) - 1) / block_size();
  return std::ssize(longest_hit(prompt, max_blocks)) * options_.block_size;
}

}  // namespace recto::verify

// Sequences come and grow.

#include <algorithm>
#include <sstream>

#include "verify/models/answers.h"
#include "verify/models/lockstep.h"

namespace recto::verify {
namespace {

std::string describe(const CacheText& text, std::optional<std::int64_t> room) {
  std::ostringstream out;
  out << text;
  if (room) out << " room " << *room;
  return out.str();
}

std::optional<std::int64_t> room_of(const CacheCommand& command) {
  return command.extra > 0 ? std::optional<std::int64_t>(command.extra - 1) : std::nullopt;
}

std::optional<TokenCount> in_tokens(std::optional<std::int64_t> room) {
  return room ? std::optional(TokenCount(*room)) : std::nullopt;
}

}  // namespace

// As who keeps the hashes of its blocks asks.
cache::Prompt Lockstep::with_hashes(const CacheText& text,
                                    std::vector<cache::BlockHash>& hashes) const {
  cache::Prompt prompt = text.prompt();
  hashes.resize(static_cast<std::size_t>(text.length() / block_size()));
  const Result<std::int64_t> told = manager_.hash_prompt(prompt, hashes);
  RECTO_CHECK_EQ(told.is_ok(), has_proper_items(text));
  if (told.is_ok()) prompt.hashes = std::span(hashes).first(static_cast<std::size_t>(told.value()));
  return prompt;
}

// Hashes are those of the text, and change no answer: all of them, some, or some that are another
// text's, with which no more is found.
void Lockstep::ask(const CacheText& text) const {
  std::vector<cache::BlockHash> hashes;
  cache::Prompt prompt = with_hashes(text, hashes);
  cache::BlockHash hash = cache::root_hash();
  for (std::size_t i = 0; i < prompt.hashes.size(); ++i) {
    const BlockText block = block_text(text, block_size(), static_cast<std::int64_t>(i));
    hash = model_.options().prefix.hasher(hash, block.tokens, block.words);
    RECTO_CHECK_EQ(prompt.hashes[i], hash);
  }
  const std::int64_t cached = model_.cached_prefix(text);
  RECTO_CHECK_EQ(manager_.cached_prefix(text.prompt()).value(), cached);
  RECTO_CHECK_EQ(manager_.cached_prefix(prompt).value(), cached);
  prompt.hashes = prompt.hashes.first(prompt.hashes.size() / 2);
  std::vector<cache::BlockHash> again(hashes.size());
  if (!has_proper_items(text)) return;
  RECTO_CHECK_EQ(manager_.cached_prefix(prompt).value(), cached);
  const std::int64_t count = manager_.hash_prompt(prompt, again).value();
  RECTO_CHECK(std::equal(again.begin(), again.begin() + count, hashes.begin()));
  std::ranges::reverse(hashes);
  prompt.hashes = hashes;
  RECTO_CHECK_LE(manager_.cached_prefix(prompt).value(), cached);
}

void Lockstep::enter(Actor& actor, const CacheText& text, std::int64_t hit) {
  CacheText prefix = text;
  prefix.ids.resize(static_cast<std::size_t>(hit));
  actor.text = text;
  actor.tags = tags_.tags(prefix, weights_);
  remember(text);
}

std::optional<StatusCode> Lockstep::admit(const CacheCommand& command) {
  const auto base = static_cast<std::size_t>(command.base) % remembered_.size();
  const CacheText text = make_text(command, remembered_[base]);
  const std::optional<std::int64_t> room = room_of(command);
  say("admit " + describe(text, room));

  if (is_checking_) ask(text);
  std::vector<cache::BlockHash> hashes;
  const cache::Prompt prompt = with_hashes(text, hashes);
  const TokenCount cached = manager_.cached_prefix(prompt);
  const bool can = manager_.can_admit(text.prompt(), in_tokens(room));
  RECTO_CHECK_EQ(manager_.can_admit(prompt, in_tokens(room)), can);
  const BlockManagerModel before = model_;
  const auto admitted = manager_.admit(prompt, in_tokens(room));
  const auto expected = model_.admit(text, room);
  const StatusCode code = same_answer(admitted.status(), expected.status());
  RECTO_CHECK_EQ(can, code == StatusCode::kOk);
  if (code != StatusCode::kOk) return code;

  RECTO_CHECK_EQ(admitted.value().hit, cached);
  RECTO_CHECK_EQ(admitted.value().hit.value(), expected.value().hit);
  Actor actor{.handle = admitted.value().sequence, .name = expected.value().sequence};
  enter(actor, text, expected.value().hit);
  actors_.push_back(std::move(actor));
  say("-> " + name_of(actors_.size() - 1) + " hit " + std::to_string(cached.value()));
  bind_tables();
  if (is_checking_) count_hits(before, actors_.back());
  return code;
}

std::optional<StatusCode> Lockstep::resume(const CacheCommand& command) {
  const auto who = pick(command.who, cache::SequenceState::kPreempted);
  if (!who) return std::nullopt;
  Actor& actor = actors_[*who];
  const auto base = static_cast<std::size_t>(command.base) % remembered_.size();
  const CacheText text = make_text(command, base == 0 ? actor.text : remembered_[base]);
  const std::optional<std::int64_t> room = room_of(command);
  say("resume " + name_of(*who) + " " + describe(text, room));

  std::vector<cache::BlockHash> hashes;
  const cache::Prompt prompt = with_hashes(text, hashes);
  const bool can = manager_.can_resume(actor.handle, text.prompt(), in_tokens(room));
  RECTO_CHECK_EQ(manager_.can_resume(actor.handle, prompt, in_tokens(room)), can);
  const BlockManagerModel before = model_;
  const auto hit = manager_.resume(actor.handle, prompt, in_tokens(room));
  const auto expected = model_.resume(actor.name, text, room);
  const StatusCode code = same_answer(hit.status(), expected.status());
  RECTO_CHECK_EQ(can, code == StatusCode::kOk);
  if (code != StatusCode::kOk) return code;
  RECTO_CHECK_EQ(hit.value().value(), expected.value());
  enter(actor, text, expected.value());
  bind_tables();
  if (is_checking_) count_hits(before, actor);
  happenings_.count_if(expected.value() > 0, Happening::kResumeWithHit);
  return code;
}

std::optional<StatusCode> Lockstep::append(const CacheCommand& command) {
  const auto who = pick(command.who, cache::SequenceState::kRunning);
  if (!who) return std::nullopt;
  Actor& actor = actors_[*who];
  std::int64_t count = command.count;
  if (command.extra == kBeyondTable) {
    const std::int64_t most = model_.options().max_blocks_per_sequence.value() * block_size();
    count = most - std::ssize(actor.tags) + 1;
  }
  if (command.extra == kNegative) count = -1;
  say("append " + name_of(*who) + " " + std::to_string(count));

  const bool can = manager_.can_append(handles({*who}));
  const BlockManagerModel before = model_;
  const auto copies = manager_.append(actor.handle, TokenCount(count));
  const auto expected = model_.append(actor.name, count);
  const StatusCode code = same_answer(copies.status(), expected.status());
  if (count == 1) RECTO_CHECK_EQ(can, code == StatusCode::kOk);
  if (code != StatusCode::kOk) return code;
  add_tokens(actor.text, std::ssize(actor.tags) + count, command.token);
  take_copies(copies.value(), expected.value());
  write_tokens(*who, count);
  if (is_checking_) count_copies(before, expected.value());
  return code;
}

std::optional<StatusCode> Lockstep::append_batch(const CacheCommand& command) {
  const Picked picked = pick_set(command.who, cache::SequenceState::kRunning);
  if (picked.empty()) return std::nullopt;
  say("append " + names_of(picked));
  const bool can = manager_.can_append(handles(picked));
  const BlockManagerModel before = model_;
  const auto copies = manager_.append(handles(picked));
  const auto expected = model_.append(names(picked));
  const StatusCode code = same_answer(copies.status(), expected.status());
  RECTO_CHECK_EQ(can, code == StatusCode::kOk);
  if (code != StatusCode::kOk) return code;
  std::int32_t token = command.token;
  for (const std::size_t who : picked) {
    add_tokens(actors_[who].text, std::ssize(actors_[who].tags) + 1, token);
    token /= how_.alphabet;
  }
  take_copies(copies.value(), expected.value());
  for (const std::size_t who : picked) write_tokens(who, 1);
  if (is_checking_) count_copies(before, expected.value());
  return code;
}

std::optional<StatusCode> Lockstep::reserve(const CacheCommand& command) {
  const auto who = pick(command.who, cache::SequenceState::kRunning);
  if (!who) return std::nullopt;
  const Actor& actor = actors_[*who];
  std::int64_t length = std::ssize(actor.tags) + command.count - command.length;
  if (command.extra == kBeyondTable) {
    length = model_.options().max_blocks_per_sequence.value() * block_size() + 1;
  }
  if (command.extra == kNegative) length = -1;
  say("reserve " + name_of(*who) + " " + std::to_string(length));

  const BlockManagerModel before = model_;
  const auto copies = manager_.reserve(actor.handle, TokenCount(length));
  const auto expected = model_.reserve(actor.name, length);
  const StatusCode code = same_answer(copies.status(), expected.status());
  if (code != StatusCode::kOk) return code;
  take_copies(copies.value(), expected.value());
  const bool has_room_to_write = length > std::ssize(actor.tags);
  for (std::int32_t group = 0; is_checking_ && has_room_to_write && group < num_groups(); ++group) {
    for (auto i = std::ssize(actor.tags) / block_size(); i * block_size() < length; ++i) {
      check_writable(*who, group, entry(actor, group, i));
    }
  }
  if (is_checking_) count_copies(before, expected.value());
  return code;
}

std::optional<StatusCode> Lockstep::commit(const CacheCommand& command) {
  const auto who = pick(command.who, cache::SequenceState::kRunning);
  if (!who) return std::nullopt;
  const Actor& actor = actors_[*who];
  CacheText text = actor.text;
  if (command.extra == kContextOnly) text.ids.resize(actor.tags.size());
  if (command.extra == kTooFew) text.ids.resize(actor.tags.size() / 2);
  if (command.extra == kBadItem) text.items = {{.content_hash = 1, .start = 0, .length = 0}};
  say("commit " + name_of(*who) + " " + describe(text, {}));

  const std::size_t blocks = model_.sequences().at(actor.name).published.size();
  const Status status = manager_.commit(actor.handle, text.prompt().tokens);
  const StatusCode code = same_answer(status, model_.commit(actor.name, text));
  if (code != StatusCode::kOk) return code;
  note_published(actor, blocks);
  happenings_.count_if(model_.sequences().at(actor.name).saw_reset, Happening::kCommitAfterReset);
  return code;
}

// Equal chains of blocks must mean equal K and V.
void Lockstep::note_published(const Actor& actor, std::size_t blocks_before) {
  const TextChain& chain = model_.sequences().at(actor.name).published;
  for (std::size_t i = blocks_before; i < chain.size(); ++i) {
    const auto begin = actor.tags.begin() + static_cast<std::ptrdiff_t>(i) * block_size();
    const std::vector<SlotTag> tags(begin, begin + block_size());
    const TextChain key(chain.begin(), chain.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    RECTO_CHECK(published_.try_emplace(key, tags).first->second == tags);
  }
}

// The copies are those of the model, up to names, and are made.
void Lockstep::take_copies(std::span<const cache::BlockCopy> copies,
                           const std::vector<ModelCopy>& expected) {
  const std::vector<cache::BlockCopy> made(copies.begin(), copies.end());
  bind_tables();
  RECTO_CHECK_EQ(made.size(), expected.size());
  for (const ModelCopy& copy : expected) {
    const std::optional<BlockId> source = device_names_.block(copy.source);
    const std::optional<BlockId> destination = device_names_.block(copy.destination);
    RECTO_CHECK(source && destination);
    RECTO_CHECK(std::ranges::any_of(made, [&](const cache::BlockCopy& other) {
      return other.group == copy.group && other.source == *source &&
             other.destination == *destination && other.slots.value() == copy.slots;
    }));
  }
  shadow_.copy(made);
}

void Lockstep::write_tokens(std::size_t who, std::int64_t count) {
  Actor& actor = actors_[who];
  for (; count > 0; --count) {
    const auto token = std::ssize(actor.tags);
    const SlotTag before = actor.tags.empty() ? 0 : actor.tags.back();
    actor.tags.push_back(tags_.tag(before, actor.text, token, weights_));
    for (std::int32_t group = 0; group < num_groups(); ++group) {
      const BlockId block = entry(actor, group, token / block_size());
      if (is_checking_) check_writable(who, group, block);
      shadow_.write(group, block, token % block_size(), actor.tags.back());
    }
  }
}

}  // namespace recto::verify

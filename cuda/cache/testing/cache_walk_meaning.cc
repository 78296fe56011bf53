// Translates commands to calls, depending on the state of the walk.

#include <algorithm>

#include "cuda/cache/testing/cache_walk.h"

namespace recto::cache::testing {

std::optional<CacheCall> CacheWalk::meaning(const CacheCommand& command) {
  CacheCall call{.kind = command.kind};
  if (!name_sequences(command, call)) return std::nullopt;
  fill_arguments(command, call);
  return call;
}

std::vector<SequenceHandle> CacheWalk::all_in(SequenceState state) const {
  std::vector<SequenceHandle> handles;
  for (const Actor& actor : actors_) {
    if (state_of(actor) == state) handles.push_back(actor.handle);
  }
  return handles;
}

std::vector<SequenceHandle> CacheWalk::candidates(std::int32_t who, SequenceState state) const {
  if ((who & kAnyState) == 0) return all_in(state);
  std::vector<SequenceHandle> handles;
  for (const Actor& actor : actors_) handles.push_back(actor.handle);
  return handles;
}

std::vector<SequenceHandle> CacheWalk::pick(std::int32_t who, SequenceState state) const {
  const std::vector<SequenceHandle> all = candidates(who, state);
  if (all.empty()) return {};
  return {all[static_cast<std::size_t>(who & 0xff) % all.size()]};
}

std::vector<SequenceHandle> CacheWalk::pick_set(std::int32_t who, SequenceState state) const {
  const std::vector<SequenceHandle> all = candidates(who, state);
  std::vector<SequenceHandle> picked;
  for (std::size_t i = 0; i < all.size() && i < 8; ++i) {
    if ((who >> i & 1) != 0) picked.push_back(all[i]);
  }
  if (picked.empty()) picked = all;
  if ((who & kReversed) != 0) std::ranges::reverse(picked);
  if ((who & kTwice) != 0 && !picked.empty()) picked.push_back(picked.front());
  return picked;
}

// False if the command has no sequence to act on.
bool CacheWalk::name_sequences(const CacheCommand& command, CacheCall& call) const {
  using enum CommandKind;
  const auto which = static_cast<std::size_t>(command.who & 0xff);
  switch (command.kind) {
    case kAdmit:
    case kPin:
    case kReset:
      return true;
    case kMisuse: {
      const std::vector<SequenceHandle> bad = bad_handles();
      call.sequences = {bad[static_cast<std::size_t>(command.who) % bad.size()]};
      return true;
    }
    case kComplete:
      if (!moving_.empty()) call.transfer = moving_[which % moving_.size()].handle;
      return !moving_.empty();
    case kUnpin:
      if (!pins_.empty()) call.pin = pins_[which % pins_.size()];
      return !pins_.empty();
    case kResume:
      call.sequences = pick(command.who, SequenceState::kPreempted);
      return !call.sequences.empty();
    case kSwapIn:
      call.sequences = pick_set(command.who, SequenceState::kSwapped);
      return !call.sequences.empty();
    case kAppendBatch:
    case kBeamStep:
    case kSwapOut:
      call.sequences = pick_set(command.who, SequenceState::kRunning);
      return !call.sequences.empty();
    default:
      call.sequences = pick(command.who, SequenceState::kRunning);
      return !call.sequences.empty();
  }
}

void CacheWalk::fill_arguments(const CacheCommand& command, CacheCall& call) const {
  using enum CommandKind;
  const bool is_one_of_ours = !call.sequences.empty() && command.kind != kMisuse;
  const Actor first = is_one_of_ours ? actor(call.sequences.front()) : Actor{};
  const auto context = std::ssize(first.tags);
  const auto count_tokens = [&](std::int64_t usual, std::int64_t too_many) {
    call.count = TokenCount(command.extra == kBeyondTable ? too_many : usual);
    if (command.extra == kNegative) call.count = TokenCount(-1);
  };
  switch (command.kind) {
    case kAdmit:
    case kPin:
    case kResume:
      return fill_prompt(command, first, call);
    case kAppend:
      return count_tokens(command.count, max_tokens() - context + 1);
    case kReserve:
      return count_tokens(context + command.count - command.length, max_tokens() + 1);
    case kTruncate:
      return count_tokens(command.length % (context + 1), context + 1);
    case kSwapIn:
      return count_tokens(command.count, max_tokens() + 1);
    case kCommit: {
      call.text = first.text;
      const std::int64_t kept = command.extra == kTooFew ? context / 2 : context;
      const bool is_cut = command.extra == kContextOnly || command.extra == kTooFew;
      if (is_cut) call.text.ids.resize(static_cast<std::size_t>(kept));
      if (command.extra == kBadItem) call.text.items = {{.content_hash = 1}};
      return;
    }
    case kBeamStep: {
      const auto parents = static_cast<std::int32_t>(call.sequences.size());
      for (std::int32_t i = 0, digits = command.token; i < command.count; ++i, digits /= parents) {
        call.parent_of.push_back(digits % parents);
      }
      if (command.extra == kNoSuchParent) call.parent_of.push_back(parents);
      if (command.extra == kNegative) call.parent_of.insert(call.parent_of.begin(), -1);
      return;
    }
    default:
      return;
  }
}

// Fills in a prompt with the hashes of its blocks, as a caller that keeps them.
void CacheWalk::fill_prompt(const CacheCommand& command, const Actor& own, CacheCall& call) const {
  const auto base = static_cast<std::size_t>(command.base) % remembered_.size();
  const bool is_own = command.kind == CommandKind::kResume && base == 0;
  call.text = make_text(command, is_own ? own.text : remembered_[base]);
  if (command.kind != CommandKind::kPin && command.extra > 0) {
    call.room = TokenCount(command.extra - 1);
  }
  call.hashes.resize(static_cast<std::size_t>(call.text.length() / block_size()));
  const auto hashed = manager_.hash_prompt(call.text.prompt(), call.hashes);
  call.hashes.resize(hashed.is_ok() ? static_cast<std::size_t>(hashed.value()) : 0);
}

void CacheWalk::add_tokens(CacheText& text, std::int64_t length, std::int32_t token) const {
  for (; text.length() < length; token /= alphabet_) text.ids.push_back(token % alphabet_);
}

// There are four adapters, four tenants and four items, with ids that share halves; an item has 1
// to 3 tokens. One at the last place is followed by another out of order, which is refused.
CacheText CacheWalk::make_text(const CacheCommand& command, const CacheText& base) const {
  CacheText text = base;
  text.ids.resize(std::min<std::size_t>(text.ids.size(), static_cast<std::size_t>(command.length)));
  add_tokens(text, text.length() + command.count, command.token);
  const std::int32_t keys = command.flavour & 3;
  const std::int32_t items = command.flavour >> 2 & 3;
  const std::int32_t place = command.flavour >> 4;
  const std::uint64_t id = wide_id(static_cast<std::uint64_t>(place) >> 2);
  if (keys != 0) text.keys = {.lora_id = keys == 2 ? id : 0, .tenant_salt = keys == 3 ? id : 0};
  if (items != 0) text.items.clear();
  if (items == 2) {
    text.items = {{.content_hash = id,
                   .start = place % std::max<std::int64_t>(1, text.length()),
                   .length = 1 + place % 3}};
    if (place == 15) text.items.push_back({.content_hash = 1, .start = 0, .length = 1});
  }
  for (std::int64_t i = 0; items == 3 && i < text.length(); ++i) {
    text.items.push_back({.content_hash = 1, .start = i, .length = 1});
  }
  return text;
}

}  // namespace recto::cache::testing

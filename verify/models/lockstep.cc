// What commands mean, and how they are run.

#include "verify/models/lockstep.h"

#include <algorithm>
#include <sstream>
#include <utility>

#include "core/contract.h"

namespace recto::verify {
namespace {

cache::CacheOptions with_events(cache::CacheOptions options, EventMirror& events) {
  options.events = &events;
  return options;
}

}  // namespace

Lockstep::Lockstep(const cache::CacheOptions& options, const LockstepOptions& how,
                   Happenings& happenings)
    : how_(how),
      happenings_(happenings),
      model_(options),
      manager_(cache::BlockManager::create(with_events(options, events_)).value()),
      shadow_(options) {}

std::optional<StatusCode> Lockstep::execute(const CacheCommand& command) {
  using Step = std::optional<StatusCode> (Lockstep::*)(const CacheCommand&);
  constexpr std::array<Step, kNumCommandKinds> kSteps = {
      &Lockstep::admit,   &Lockstep::append,   &Lockstep::append_batch, &Lockstep::reserve,
      &Lockstep::commit,  &Lockstep::fork,     &Lockstep::beam_step,    &Lockstep::truncate,
      &Lockstep::release, &Lockstep::preempt,  &Lockstep::resume,       &Lockstep::swap_out,
      &Lockstep::swap_in, &Lockstep::complete, &Lockstep::pin,          &Lockstep::unpin,
      &Lockstep::reset,   &Lockstep::misuse,
  };
  return (this->*kSteps[static_cast<std::size_t>(command.kind)])(command);
}

void Lockstep::run(const CacheCommand& command) {
  std::ostringstream text;
  text << command;
  log_ += "\n  [" + text.str() + "]";
  const BlockManagerModel before = model_;
  const std::vector<std::int64_t> observed = observe();
  const std::optional<StatusCode> code = execute(command);
  if (!code) return happenings_.count_skipped();
  happenings_.count_answer(command.kind, *code);
  // What can't be done changes nothing at all, not even the order of free blocks.
  if (*code != StatusCode::kOk) RECTO_CHECK(observe() == observed);
  compare();
  count_changes(before);
}

void Lockstep::replay(const CacheCommand& command) {
  is_checking_ = false;
  execute(command);
  bind_tables();
  is_checking_ = true;
}

void Lockstep::say(const std::string& text) {
  if (is_checking_) log_ += " " + text;
}

std::string Lockstep::name_of(std::size_t actor) const {
  return "s" + std::to_string(actors_[actor].name.value());
}

std::string Lockstep::names_of(const Picked& picked) const {
  std::string names;
  for (const std::size_t actor : picked) names += (names.empty() ? "" : ", ") + name_of(actor);
  return "(" + names + ")";
}

Lockstep::Picked Lockstep::all_in(cache::SequenceState state) const {
  Picked picked;
  for (std::size_t i = 0; i < actors_.size(); ++i) {
    if (model_.sequences().at(actors_[i].name).state == state) picked.push_back(i);
  }
  return picked;
}

std::optional<std::size_t> Lockstep::pick(std::int32_t who, cache::SequenceState state) const {
  const auto index = static_cast<std::size_t>(who & 0xff);
  if ((who & kAnyState) != 0) {
    return actors_.empty() ? std::nullopt : std::optional(index % actors_.size());
  }
  const Picked candidates = all_in(state);
  return candidates.empty() ? std::nullopt : std::optional(candidates[index % candidates.size()]);
}

Lockstep::Picked Lockstep::pick_set(std::int32_t who, cache::SequenceState state) const {
  Picked candidates = all_in(state);
  if ((who & kAnyState) != 0) {
    candidates.resize(actors_.size());
    for (std::size_t i = 0; i < candidates.size(); ++i) candidates[i] = i;
  }
  Picked picked;
  for (std::size_t i = 0; i < candidates.size() && i < 8; ++i) {
    if ((who >> i & 1) != 0) picked.push_back(candidates[i]);
  }
  if (picked.empty()) picked = candidates;
  if ((who & kReversed) != 0) std::ranges::reverse(picked);
  if ((who & kTwice) != 0 && !picked.empty()) picked.push_back(picked.front());
  return picked;
}

std::vector<cache::SequenceHandle> Lockstep::handles(const Picked& picked) const {
  std::vector<cache::SequenceHandle> handles;
  for (const std::size_t actor : picked) handles.push_back(actors_[actor].handle);
  return handles;
}

std::vector<SequenceName> Lockstep::names(const Picked& picked) const {
  std::vector<SequenceName> names;
  for (const std::size_t actor : picked) names.push_back(actors_[actor].name);
  return names;
}

void Lockstep::add_tokens(CacheText& text, std::int64_t length, std::int32_t token) const {
  for (; text.length() < length; token /= how_.alphabet) {
    text.ids.push_back(token % how_.alphabet);
  }
}

// An item's length follows from what it is: 1, 2 or 3 tokens. Behind one at the last place stands
// another out of order, which is refused.
CacheText Lockstep::make_text(const CacheCommand& command, const CacheText& base) const {
  CacheText text = base;
  text.ids.resize(std::min<std::size_t>(text.ids.size(), static_cast<std::size_t>(command.length)));
  add_tokens(text, text.length() + command.count, command.token);
  const std::int32_t keys = command.flavour & 3;
  const std::int32_t items = command.flavour >> 2 & 3;
  const std::int32_t place = command.flavour >> 4;
  if (keys != 0) text.keys = {.lora_id = keys == 2 ? 1U : 0U, .tenant_salt = keys == 3 ? 1U : 0U};
  if (items != 0) text.items.clear();
  if (items == 2) {
    const std::int64_t kind = 1 + place % 3;
    text.items = {{.content_hash = static_cast<std::uint64_t>(kind),
                   .start = place % std::max<std::int64_t>(1, text.length()),
                   .length = kind}};
    if (place == 15) text.items.push_back({.content_hash = 1, .start = 0, .length = 1});
  }
  for (std::int64_t i = 0; items == 3 && i < text.length(); ++i) {
    text.items.push_back({.content_hash = 1, .start = i, .length = 1});
  }
  return text;
}

void Lockstep::remember(const CacheText& text) {
  if (std::ranges::find(remembered_, text) != remembered_.end()) return;
  if (std::ssize(remembered_) >= how_.remembered_max) {
    if (remembered_.size() < 2) return;
    remembered_.erase(remembered_.begin() + 1);  // the empty one stays
  }
  remembered_.push_back(text);
}

BlockId Lockstep::entry(const Actor& actor, std::int32_t group, std::int64_t index) const {
  const auto table = manager_.block_table(actor.handle, group).value();
  RECTO_CHECK_LT(index, std::ssize(table));
  return table[static_cast<std::size_t>(index)];
}

void Lockstep::leave(const Picked& picked) {
  Picked descending = picked;
  std::ranges::sort(descending, std::greater<>());
  for (const std::size_t actor : descending) {
    gone_.push_back(actors_[actor].handle);
    if (gone_.size() > 4) gone_.erase(gone_.begin());
    actors_.erase(actors_.begin() + static_cast<std::ptrdiff_t>(actor));
  }
}

}  // namespace recto::verify

// Sequences branch and give back; prefixes are kept, and all is forgotten.

#include <algorithm>
#include <set>
#include <sstream>

#include "verify/models/answers.h"
#include "verify/models/lockstep.h"

namespace recto::verify {

std::optional<StatusCode> Lockstep::fork(const CacheCommand& command) {
  const auto who = pick(command.who, cache::SequenceState::kRunning);
  if (!who) return std::nullopt;
  const Actor& parent = actors_[*who];
  say("fork " + name_of(*who));
  const auto child = manager_.fork(parent.handle);
  const auto expected = model_.fork(parent.name);
  const StatusCode code = same_answer(child.status(), expected.status());
  if (code != StatusCode::kOk) return code;
  const ModelSequence& from = model_.sequences().at(parent.name);
  const ModelSequence& to = model_.sequences().at(expected.value());
  happenings_.count_if(from.device.front().size() > to.device.front().size(),
                       Happening::kForkWithLookahead);
  Actor actor = parent;
  actor.handle = child.value();
  actor.name = expected.value();
  if ((command.flavour & kKeepText) == 0) actor.text.ids.resize(actor.tags.size());
  actors_.push_back(std::move(actor));
  return code;
}

std::optional<StatusCode> Lockstep::beam_step(const CacheCommand& command) {
  const Picked parents = pick_set(command.who, cache::SequenceState::kRunning);
  if (parents.empty()) return std::nullopt;
  const auto num_parents = static_cast<std::int32_t>(parents.size());
  std::vector<std::int32_t> parent_of;
  for (std::int32_t i = 0, digits = command.token; i < command.count; ++i, digits /= num_parents) {
    parent_of.push_back(digits % num_parents);
  }
  if (command.extra == kNoSuchParent) parent_of.push_back(num_parents);
  if (command.extra == kNegative) parent_of.insert(parent_of.begin(), -1);
  std::ostringstream text;
  for (const std::int32_t parent : parent_of) text << ' ' << parent;
  say("beam step " + names_of(parents) + " to" + text.str());

  const auto beams = manager_.beam_step(handles(parents), parent_of);
  const auto expected = model_.beam_step(names(parents), parent_of);
  const StatusCode code = same_answer(beams.status(), expected.status());
  if (code != StatusCode::kOk) return code;
  RECTO_CHECK_EQ(beams.value().size(), parent_of.size());
  std::set<std::size_t> continued;
  for (std::size_t i = 0; i < parent_of.size(); ++i) {
    const std::size_t parent = parents[static_cast<std::size_t>(parent_of[i])];
    if (continued.insert(parent).second) {
      RECTO_CHECK_EQ(beams.value()[i], actors_[parent].handle);
      RECTO_CHECK_EQ(expected.value()[i], actors_[parent].name);
      continue;
    }
    happenings_.count(Happening::kBeamTwins);
    Actor twin = actors_[parent];
    twin.handle = beams.value()[i];
    twin.name = expected.value()[i];
    twin.text.ids.resize(twin.tags.size());
    actors_.push_back(std::move(twin));
  }
  Picked dropped;
  for (const std::size_t parent : parents) {
    if (!continued.contains(parent)) dropped.push_back(parent);
  }
  happenings_.count(Happening::kBeamDropped, std::ssize(dropped));
  leave(dropped);
  return code;
}

std::optional<StatusCode> Lockstep::truncate(const CacheCommand& command) {
  const auto who = pick(command.who, cache::SequenceState::kRunning);
  if (!who) return std::nullopt;
  Actor& actor = actors_[*who];
  const auto context = std::ssize(actor.tags);
  std::int64_t length = command.length % (context + 1);
  if (command.extra == kBehindContext) length = context + 1;
  if (command.extra == kNegative) length = -1;
  say("truncate " + name_of(*who) + " " + std::to_string(length));
  const ModelSequence before = model_.sequences().at(actor.name);

  const Status status = manager_.truncate(actor.handle, TokenCount(length));
  const StatusCode code = same_answer(status, model_.truncate(actor.name, length));
  if (code != StatusCode::kOk) {
    happenings_.count_if(
        before.state == cache::SequenceState::kRunning && length >= 0 && length <= context,
        Happening::kTruncateRefusedByWindow);
    return code;
  }
  actor.tags.resize(static_cast<std::size_t>(length));
  if ((command.flavour & kKeepText) == 0) actor.text.ids.resize(actor.tags.size());
  const ModelSequence& after = model_.sequences().at(actor.name);
  happenings_.count_if(after.published.size() < before.published.size(),
                       Happening::kTruncateBelowPublished);
  if (length % block_size() == 0) return code;
  const auto holders = model_.device_holders();
  for (const auto& row : after.device) {
    happenings_.count_if(holders.at(row.back()) > 1, Happening::kTruncateIntoShared);
  }
  return code;
}

std::optional<StatusCode> Lockstep::release(const CacheCommand& command) {
  const auto who = pick(command.who, cache::SequenceState::kRunning);
  if (!who) return std::nullopt;
  const Actor& actor = actors_[*who];
  say("release " + name_of(*who));
  const cache::SequenceState state = model_.sequences().at(actor.name).state;
  const Status status = manager_.release(actor.handle);
  const StatusCode code = same_answer(status, model_.release(actor.name));
  if (code != StatusCode::kOk) return code;
  happenings_.count_if(state == cache::SequenceState::kSwappingOut, Happening::kReleaseSwappingOut);
  happenings_.count_if(state == cache::SequenceState::kSwappingIn, Happening::kReleaseSwappingIn);
  remember(actor.text);
  leave({*who});
  return code;
}

std::optional<StatusCode> Lockstep::preempt(const CacheCommand& command) {
  const auto who = pick(command.who, cache::SequenceState::kRunning);
  if (!who) return std::nullopt;
  Actor& actor = actors_[*who];
  say("preempt " + name_of(*who));
  const Status status = manager_.preempt(actor.handle);
  const StatusCode code = same_answer(status, model_.preempt(actor.name));
  if (code != StatusCode::kOk) return code;
  actor.tags.clear();
  return code;
}

std::optional<StatusCode> Lockstep::pin(const CacheCommand& command) {
  const auto base = static_cast<std::size_t>(command.base) % remembered_.size();
  const CacheText text = make_text(command, remembered_[base]);
  std::ostringstream words;
  words << "pin " << text;
  say(words.str());
  const BlockManagerModel before = model_;
  const auto pin = manager_.pin(text.prompt());
  const auto expected = model_.pin(text);
  const StatusCode code = same_answer(pin.status(), expected.status());
  if (code != StatusCode::kOk) return code;
  RECTO_CHECK_EQ(pin.value().length.value(), expected.value().length);
  pins_.push_back({.handle = pin.value().handle, .name = expected.value().name});
  const TextChain& chain = model_.pins().at(expected.value().name);
  const auto holders = before.device_holders();
  for (const auto& [key, block] : before.findable()) {
    if (key.chain != chain) continue;
    const bool is_live = holders.contains(block);
    const bool is_pinned = before.is_pinned(block);
    happenings_.count_if(is_live, Happening::kPinOfLive);
    happenings_.count_if(!is_live && !is_pinned, Happening::kPinOfIdle);
    happenings_.count_if(is_pinned, Happening::kPinOfPinned);
  }
  return code;
}

std::optional<StatusCode> Lockstep::unpin(const CacheCommand& command) {
  if (pins_.empty()) return std::nullopt;
  const std::size_t which = static_cast<std::size_t>(command.who & 0xff) % pins_.size();
  last_pin_ = pins_[which];
  pins_.erase(pins_.begin() + static_cast<std::ptrdiff_t>(which));
  return same_answer(manager_.unpin(last_pin_.handle), model_.unpin(last_pin_.name));
}

std::optional<StatusCode> Lockstep::reset(const CacheCommand&) {
  const BlockManagerModel before = model_;
  manager_.reset_prefix_cache();
  model_.reset_prefix_cache();
  ++weights_;
  published_.clear();
  if (!pins_.empty()) last_pin_ = pins_.back();
  pins_.clear();
  if (is_checking_) count_reset(before);
  return StatusCode::kOk;
}

}  // namespace recto::verify

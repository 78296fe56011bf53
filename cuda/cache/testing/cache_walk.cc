// Carries out calls, and applies their answers to the walk's state.

#include "cuda/cache/testing/cache_walk.h"

#include <algorithm>
#include <set>
#include <utility>

#include "core/contract.h"
#include "cuda/cache/message.h"
#include "cuda/cache/testing/state_text.h"

namespace recto::cache::testing {
namespace {

CacheOptions with_events(CacheOptions options, EventMirror& events) {
  options.events = &events;
  return options;
}

}  // namespace

CacheWalk::CacheWalk(const CacheOptions& options, std::int32_t alphabet, Coverage& coverage,
                     std::int64_t remembered_max)
    : alphabet_(alphabet),
      remembered_max_(remembered_max),
      coverage_(coverage),
      manager_(BlockManager::create(with_events(options, events_)).value()),
      shadow_(options) {}

void CacheWalk::run(const CacheCommand& command) {
  const std::optional<CacheCall> call = meaning(command);
  if (!call) return coverage_.count_skipped();
  perform(command, *call);
  check();
}

CacheAnswer CacheWalk::perform(const CacheCommand& command, const CacheCall& call, Checks checks) {
  checks_ = checks;
  if (checks == Checks::kNone) {
    const CacheAnswer answer = carry_out(manager_, call);
    if (answer.status.is_ok()) follow(command, call, answer);
    note_stored();
    state_.clear();
    return answer;
  }
  log_ += message("\n  [", command, "] ", call);
  if (state_.empty()) state_ = state_text(manager_);
  const CacheAnswer answer = ask(call);
  coverage_.count_answer(command.kind, answer.status.code());
  if (answer.status.is_ok()) follow(command, call, answer);
  const std::string before = std::exchange(state_, state_text(manager_));
  // A refused operation changes nothing at all, not even the order of free blocks.
  if (!answer.status.is_ok()) RECTO_CHECK(before == state_);
  return answer;
}

void CacheWalk::follow(const CacheCommand& command, const CacheCall& call,
                       const CacheAnswer& answer) {
  using enum CommandKind;
  const bool keeps_text = (command.flavour & kKeepText) != 0;
  shadow_.copy(answer.copies);
  switch (call.kind) {
    case kAdmit:
      actors_.push_back({.handle = answer.sequences.front()});
      [[fallthrough]];
    case kResume: {
      Actor& entered = call.kind == kAdmit ? actors_.back() : actor(call.sequences.front());
      entered.text = call.text;
      entered.tags = slot_tags(call.text, answer.length.value(), weights_);
      return remember(call.text);
    }
    case kAppend:
    case kAppendBatch:
    case kReserve:
      return follow_growth(command, call);
    case kFork:
      actors_.push_back(actor(call.sequences.front()));
      actors_.back().handle = answer.sequences.front();
      if (!keeps_text) actors_.back().text.ids.resize(actors_.back().tags.size());
      return;
    case kBeamStep:
      return follow_beams(call, answer);
    case kTruncate: {
      Actor& cut = actor(call.sequences.front());
      cut.tags.resize(static_cast<std::size_t>(call.count.value()));
      if (!keeps_text) cut.text.ids.resize(cut.tags.size());
      return;
    }
    case kRelease:
      remember(actor(call.sequences.front()).text);
      return leave(call.sequences.front());
    case kPreempt:
      return actor(call.sequences.front()).tags.clear();
    case kSwapOut:
    case kSwapIn:
      return follow_transfer(call, answer);
    case kComplete:
      return finish_transfer(call);
    case kPin:
      return pins_.push_back(answer.pin);
    case kUnpin:
      last_pin_ = call.pin;
      std::erase(pins_, call.pin);
      return;
    case kReset:
      ++weights_;
      if (!pins_.empty()) last_pin_ = pins_.back();
      return pins_.clear();
    case kCommit:
    case kMisuse:
      return;
  }
}

void CacheWalk::follow_growth(const CacheCommand& command, const CacheCall& call) {
  std::int32_t token = command.token;
  for (const SequenceHandle handle : call.sequences) {
    Actor& grown = actor(handle);
    const auto context = std::ssize(grown.tags);
    if (call.kind == CommandKind::kReserve) {
      for (std::int32_t group = 0; checks_ == Checks::kAll && group < num_groups(); ++group) {
        for (auto i = context / block_size(); i * block_size() < call.count.value(); ++i) {
          if (call.count.value() <= context) break;
          check_writable(handle, group, table(grown, group)[static_cast<std::size_t>(i)]);
        }
      }
      continue;
    }
    const bool is_batch = call.kind == CommandKind::kAppendBatch;
    const std::int64_t count = is_batch ? 1 : call.count.value();
    add_tokens(grown.text, context + count, token);
    if (is_batch) token /= alphabet_;
    for (std::int64_t i = 0; i < count; ++i) write_token(grown);
  }
}

void CacheWalk::write_token(Actor& actor) {
  const auto token = std::ssize(actor.tags);
  const SlotTag before = actor.tags.empty() ? 0 : actor.tags.back();
  actor.tags.push_back(slot_tag(before, actor.text, token, weights_));
  for (std::int32_t group = 0; group < num_groups(); ++group) {
    const BlockId block = table(actor, group)[static_cast<std::size_t>(token / block_size())];
    if (checks_ == Checks::kAll) check_writable(actor.handle, group, block);
    shadow_.write(group, block, token % block_size(), actor.tags.back());
  }
}

// The first child of each parent takes its place.
void CacheWalk::follow_beams(const CacheCall& call, const CacheAnswer& answer) {
  RECTO_CHECK_EQ(answer.sequences.size(), call.parent_of.size());
  std::set<std::int32_t> continued;
  for (std::size_t beam = 0; beam < call.parent_of.size(); ++beam) {
    const SequenceHandle parent = call.sequences[static_cast<std::size_t>(call.parent_of[beam])];
    if (continued.insert(call.parent_of[beam]).second) {
      RECTO_CHECK_EQ(answer.sequences[beam], parent);
      continue;
    }
    actors_.push_back(actor(parent));
    actors_.back().handle = answer.sequences[beam];
    actors_.back().text.ids.resize(actors_.back().tags.size());
  }
  for (std::size_t i = 0; i < call.sequences.size(); ++i) {
    if (!continued.contains(static_cast<std::int32_t>(i))) leave(call.sequences[i]);
  }
}

void CacheWalk::follow_transfer(const CacheCall& call, const CacheAnswer& answer) {
  Moving begun{.kind = call.kind, .handle = answer.transfer, .copies = answer.swaps};
  if (call.kind == CommandKind::kSwapOut) {
    shadow_.copy_out(begun.copies);
  } else {
    for (std::int32_t group = 0; checks_ == Checks::kAll && group < num_groups(); ++group) {
      for (const SwapCopy& copy : begun.copies) check_writable({}, group, copy.device);
    }
    shadow_.copy_in(begun.copies);
  }
  begun.tags = tags_of(begun, CommandKind::kSwapOut);
  moving_.push_back(std::move(begun));
}

void CacheWalk::finish_transfer(const CacheCall& call) {
  const auto done = std::ranges::find(moving_, call.transfer, &Moving::handle);
  last_transfer_ = done->handle;
  moving_.erase(done);
}

void CacheWalk::remember(const CacheText& text) {
  if (std::ranges::find(remembered_, text) != remembered_.end()) return;
  if (std::ssize(remembered_) >= remembered_max_) {
    if (remembered_.size() < 2) return;
    remembered_.erase(remembered_.begin() + 1);  // the empty one stays
  }
  remembered_.push_back(text);
}

void CacheWalk::leave(SequenceHandle handle) {
  gone_.push_back(handle);
  if (gone_.size() > 4) gone_.erase(gone_.begin());
  std::erase_if(actors_, [handle](const Actor& actor) { return actor.handle == handle; });
}

CacheWalk::Actor& CacheWalk::actor(SequenceHandle handle) {
  const auto found = std::ranges::find(actors_, handle, &Actor::handle);
  RECTO_CHECK(found != actors_.end());
  return *found;
}

const CacheWalk::Actor& CacheWalk::actor(SequenceHandle handle) const {
  return const_cast<CacheWalk&>(*this).actor(handle);
}

}  // namespace recto::cache::testing

// Checks of a walk: answers equal predictions, misuse is refused, and slots hold the right content.

#include <algorithm>

#include "core/contract.h"
#include "cuda/cache/testing/cache_walk.h"
#include "cuda/cache/testing/invariants.h"

namespace recto::cache::testing {
namespace {

// Refusals have a message; if something is exhausted, it says how much was needed and available.
void check_refusal(const Status& status, StatusCode code) {
  RECTO_CHECK(status.code() == code);
  RECTO_CHECK(!status.message().empty());
  if (code != StatusCode::kExhausted) return;
  RECTO_CHECK_NE(status.message().find_first_of("0123456789"), std::string::npos);
}

}  // namespace

CacheAnswer CacheWalk::ask(const CacheCall& call) {
  if (call.kind == CommandKind::kMisuse) return misuse(call.sequences.front());
  if (call.kind == CommandKind::kComplete) {
    const auto done = std::ranges::find(moving_, call.transfer, &Moving::handle);
    for (const CommandKind side : {CommandKind::kSwapOut, CommandKind::kSwapIn}) {
      RECTO_CHECK(tags_of(*done, side) == done->tags);
    }
  }
  if (call.kind == CommandKind::kAdmit) check_hashes(call);
  if (call.kind == CommandKind::kRelease) {
    const SequenceState state = state_of(actor(call.sequences.front()));
    if (state == SequenceState::kSwappingOut) coverage_.count("releases during a swap out");
    if (state == SequenceState::kSwappingIn) coverage_.count("releases during a swap in");
  }
  const TokenCount cached = manager_.cached_prefix(call.prompt());
  const std::optional<bool> can = is_announced(call);
  CacheAnswer answer = carry_out(manager_, call);
  const Status& status = answer.status;
  if (can) RECTO_CHECK_EQ(status.is_ok(), *can);
  if (!status.is_ok()) check_refusal(status, status.code());
  if (call.kind == CommandKind::kAdmit && status.is_ok()) RECTO_CHECK_EQ(answer.length, cached);
  coverage_.count("copies on write", std::ssize(answer.copies));
  return answer;
}

std::optional<bool> CacheWalk::is_announced(const CacheCall& call) {
  using enum CommandKind;
  switch (call.kind) {
    case kAdmit: {
      const bool can = manager_.can_admit(call.prompt(), call.room);
      RECTO_CHECK_EQ(manager_.can_admit(call.text.prompt(), call.room), can);
      return can;
    }
    case kResume: {
      const SequenceHandle resumed = call.sequences.front();
      const bool can = manager_.can_resume(resumed, call.prompt(), call.room);
      RECTO_CHECK_EQ(manager_.can_resume(resumed, call.text.prompt(), call.room), can);
      return can;
    }
    case kAppend:
      if (call.count != TokenCount(1)) return std::nullopt;
      return manager_.can_append(call.sequences);
    case kAppendBatch:
      return manager_.can_append(call.sequences);
    case kSwapOut:
      return manager_.can_swap_out(call.sequences);
    case kSwapIn:
      return manager_.can_swap_in(call.sequences, call.count);
    default:
      return std::nullopt;
  }
}

// Hashes are those of the text, and do not change the answer, whether all or some are given. With
// the hashes of another text, no more is found.
void CacheWalk::check_hashes(const CacheCall& call) const {
  const Prompt plain = call.text.prompt();
  const TokenCount cached = manager_.cached_prefix(plain);
  RECTO_CHECK_EQ(manager_.cached_prefix(call.prompt()), cached);
  BlockHash hash = root_hash();
  for (std::size_t i = 0; i < call.hashes.size(); ++i) {
    const BlockText block = block_text(plain, block_size(), static_cast<std::int64_t>(i));
    hash = manager_.options().prefix.hasher(hash, block.tokens, block.words);
    RECTO_CHECK_EQ(call.hashes[i], hash);
  }
  std::vector<BlockHash> again(call.hashes.size());
  Prompt half = call.prompt();
  half.hashes = half.hashes.first(half.hashes.size() / 2);
  const auto hashed = manager_.hash_prompt(half, again);
  RECTO_CHECK_EQ(hashed.is_ok(), has_proper_items(plain.tokens));
  if (!hashed.is_ok()) return;
  RECTO_CHECK(again == call.hashes);
  RECTO_CHECK_EQ(manager_.cached_prefix(half), cached);
  std::ranges::reverse(again);
  half.hashes = again;
  RECTO_CHECK_LE(manager_.cached_prefix(half), cached);
}

std::vector<SequenceHandle> CacheWalk::bad_handles() const {
  std::vector<SequenceHandle> bad = gone_;
  bad.push_back({});
  bad.push_back({.index = -1, .generation = 1});
  bad.push_back({.index = manager_.options().max_sequences, .generation = 1});
  for (const Actor& actor : actors_) {
    bad.push_back({actor.handle.index, actor.handle.generation + 1});
    bad.push_back({actor.handle.index, actor.handle.generation - 1});
  }
  return bad;
}

// Invalid handles are refused by every operation, alone and after valid ones, which stay unchanged.
CacheAnswer CacheWalk::misuse(SequenceHandle bad) {
  using enum CommandKind;
  const auto refused = [](const Status& status) {
    check_refusal(status, StatusCode::kInvalidInput);
  };
  CacheCall call{.sequences = {bad}, .text = {.ids = {0}}, .count = TokenCount(1)};
  for (const CommandKind kind : {kAppend, kReserve, kCommit, kFork, kTruncate, kRelease, kPreempt,
                                 kResume, kComplete, kUnpin}) {
    call.kind = kind;
    refused(carry_out(manager_, call).status);
  }
  RECTO_CHECK(!manager_.can_resume(bad, call.text.prompt()));
  refused(manager_.view(bad).status());
  refused(manager_.block_table(bad, 0).status());
  refused(manager_.host_block_table(bad, 0).status());
  for (std::vector<SequenceHandle> batch :
       {std::vector<SequenceHandle>(), all_in(SequenceState::kRunning),
        all_in(SequenceState::kSwapped)}) {
    batch.push_back(bad);
    call.sequences = batch;
    call.parent_of.assign(batch.size(), 0);
    for (const CommandKind kind : {kAppendBatch, kBeamStep, kSwapOut, kSwapIn}) {
      call.kind = kind;
      refused(carry_out(manager_, call).status);
    }
    RECTO_CHECK(!manager_.can_append(batch));
    RECTO_CHECK(!manager_.can_swap_out(batch));
    RECTO_CHECK(!manager_.can_swap_in(batch));
  }
  refused(manager_.complete(last_transfer_));
  refused(manager_.unpin(last_pin_));
  for (const Actor& actor : actors_) {
    refused(manager_.block_table(actor.handle, -1).status());
    refused(manager_.block_table(actor.handle, num_groups()).status());
  }
  return {.status = manager_.view(bad).status()};
}

void CacheWalk::check() {
  for (const Actor& actor : actors_) {
    RECTO_CHECK_EQ(manager_.view(actor.handle).value().context_length.value(),
                   std::ssize(actor.tags));
    check_reads(actor);
  }
  for (const SequenceHandle handle : gone_) RECTO_CHECK(!manager_.view(handle).is_ok());
  check_stored();
  RECTO_CHECK_EQ(check_invariants(manager_), Status::ok());
}

// Checks that the tokens that the next row sees are where the tables say.
void CacheWalk::check_reads(const Actor& actor) const {
  const SequenceState state = state_of(actor);
  const bool is_host = state == SequenceState::kSwapped;
  if (state == SequenceState::kPreempted || state == SequenceState::kSwappingIn) return;
  const auto context = std::ssize(actor.tags);
  for (std::int32_t group = 0; group < num_groups(); ++group) {
    const auto window = manager_.options().groups[static_cast<std::size_t>(group)].window;
    const auto blocks =
        is_host ? manager_.host_block_table(actor.handle, group).value() : table(actor, group);
    for (auto token = window ? std::max<std::int64_t>(0, context - window->value() + 1) : 0;
         token < context; ++token) {
      const BlockId block = blocks[static_cast<std::size_t>(token / block_size())];
      const std::int64_t offset = token % block_size();
      RECTO_CHECK_EQ(
          is_host ? shadow_.read_host(group, block, offset) : shadow_.read(group, block, offset),
          actor.tags[static_cast<std::size_t>(token)]);
    }
  }
}

// Records the contents of blocks that have become findable, before their sequences are released.
void CacheWalk::note_stored() {
  for (auto& [key, stored] : events_.stored()) {
    if (stored.tags.empty()) stored.tags = written(key.second, key.first);
  }
}

// Findable blocks hold what was written before they became findable, and do not change.
void CacheWalk::check_stored() {
  note_stored();
  for (const auto& [key, stored] : events_.stored()) {
    for (std::int64_t offset = 0; offset < block_size(); ++offset) {
      RECTO_CHECK_EQ(shadow_.read(key.second, key.first, offset),
                     stored.tags[static_cast<std::size_t>(offset)]);
    }
  }
}

// The tags that a sequence wrote into a block that it filled; a broken contract if no sequence has
// it.
std::vector<SlotTag> CacheWalk::written(std::int32_t group, BlockId block) const {
  for (const Actor& actor : actors_) {
    const std::span<const BlockId> blocks = table(actor, group);
    const auto index = std::ranges::find(blocks, block) - blocks.begin();
    const bool is_full = (index + 1) * block_size() <= std::ssize(actor.tags);
    if (index == std::ssize(blocks) || !is_full) continue;
    const auto first = actor.tags.begin() + index * block_size();
    return {first, first + block_size()};
  }
  RECTO_UNREACHABLE("no sequence holds the block that was stored");
}

// Checks that no other sequence sees the block, that it cannot be found, and that it is no null
// block.
void CacheWalk::check_writable(SequenceHandle who, std::int32_t group, BlockId block) const {
  RECTO_CHECK_GE(block.value(), manager_.options().null_blocks.value());
  const auto is_destination = [block](const SwapCopy& copy) { return copy.device == block; };
  for (const Moving& moving : moving_) {
    if (moving.kind == CommandKind::kSwapOut) continue;
    RECTO_CHECK(std::ranges::none_of(moving.copies, is_destination));
  }
  for (std::int32_t other = 0; other < num_groups(); ++other) {
    RECTO_CHECK(!events_.stored().contains({block, other}));
    for (const Actor& actor : actors_) {
      // Blocks that are being swapped in are checked as part of their transfer.
      const bool is_itself = actor.handle == who && other == group;
      if (is_itself || state_of(actor) == SequenceState::kSwappingIn) continue;
      const std::span<const BlockId> blocks = table(actor, other);
      RECTO_CHECK(std::ranges::find(blocks, block) == blocks.end());
    }
  }
}

// The tags of the copied slots: on the device if `side` is kSwapOut, otherwise on the host.
std::vector<SlotTag> CacheWalk::tags_of(const Moving& moving, CommandKind side) const {
  std::vector<SlotTag> tags;
  for (const SwapCopy& copy : moving.copies) {
    for (std::int64_t offset = 0; offset < block_size(); ++offset) {
      tags.push_back(side == CommandKind::kSwapOut
                         ? shadow_.read(copy.group, copy.device, offset)
                         : shadow_.read_host(copy.group, copy.host, offset));
    }
  }
  return tags;
}

std::span<const BlockId> CacheWalk::table(const Actor& actor, std::int32_t group) const {
  return manager_.block_table(actor.handle, group).value();
}

std::int64_t CacheWalk::max_tokens() const {
  return manager_.options().max_blocks_per_sequence.value() * block_size();
}

}  // namespace recto::cache::testing

// Admission of prompts: how much of a prompt is cached, and whether there is room for the rest.

#include <algorithm>
#include <optional>

#include "cuda/cache/block_manager.h"
#include "cuda/cache/cache_core.h"
#include "cuda/cache/message.h"
#include "cuda/cache/prompt_reader.h"

namespace recto::cache {
namespace {

// The blocks that admitting a prompt takes.
struct AdmissionPlan {
  PrefixMatch match;
  std::int64_t blocks = 0;   // logical blocks of the table
  std::int64_t fresh = 0;    // blocks of the pool without content
  std::int64_t revived = 0;  // cached blocks of the match that are evictable now
};

Status check_prompt(const CacheCore& core, const Prompt& prompt, std::optional<TokenCount> room) {
  const std::int64_t most = core.geometry.max_tokens();
  const std::int64_t length = std::ssize(prompt.tokens.ids);
  if (length < 1 || length > most) {
    return Status::invalid_input(
        message("prompt of ", length, " tokens; expected 1 to the ", most, " of a block table"));
  }
  if (room && (room->value() < 0 || room->value() > most)) {
    return Status::invalid_input(
        message("room for ", *room, " tokens; expected 0 to the ", most, " of a block table"));
  }
  return check_tokens(prompt.tokens);
}

// The last token is computed even if its block is cached, because its output is needed.
PrefixMatch match_prompt(const CacheCore& core, const Prompt& prompt) {
  const std::int64_t length = std::ssize(prompt.tokens.ids);
  return core.prefix.match(prompt, core.geometry.full_blocks(length - 1));
}

// Invalid input for an invalid prompt or `room`.
Result<AdmissionPlan> plan_admission(const CacheCore& core, const Prompt& prompt,
                                     std::optional<TokenCount> room) {
  RECTO_RETURN_IF_ERROR(check_prompt(core, prompt, room));
  const std::int64_t length = std::ssize(prompt.tokens.ids);
  AdmissionPlan plan;
  plan.match = match_prompt(core, prompt);
  plan.blocks = std::max<std::int64_t>(plan.match.blocks,
                                       core.geometry.blocks_for(room ? room->value() : length));
  plan.fresh = (plan.blocks - plan.match.blocks) * core.geometry.num_groups();
  plan.revived = core.prefix.count_evictable(plan.match);
  return plan;
}

// Whether the pool has enough blocks for the plan; check_room is the version with a message.
bool has_room(const CacheCore& core, const AdmissionPlan& plan) {
  const std::int64_t needed = plan.fresh + plan.revived;
  return needed + core.options.watermark.value() <= core.device.pool().available().value();
}

Status check_room(const CacheCore& core, const AdmissionPlan& plan) {
  if (has_room(core, plan)) return Status::ok();
  const BlockPool& pool = core.device.pool();
  return Status::exhausted(message(
      "needs ", plan.fresh, " blocks besides a cached prefix of ", plan.match.blocks,
      " per group, which takes ", plan.revived, " of the evictable blocks; there are ", pool.free(),
      " free and ", pool.evictable(), " evictable, and a watermark of ", core.options.watermark));
}

// Whether there are blocks for a prompt. Builds no message.
bool fits(const CacheCore& core, const Prompt& prompt, std::optional<TokenCount> room) {
  const Result<AdmissionPlan> plan = plan_admission(core, prompt, room);
  return plan.is_ok() && has_room(core, plan.value());
}

// Gives a running sequence that holds nothing the planned blocks. The manager must be unchanged
// since the plan was made.
void carry_out(CacheCore& core, std::int32_t sequence, const Prompt& prompt,
               const AdmissionPlan& plan) {
  core.prefix.adopt(sequence, prompt, plan.match);
  core.prefix.take_until(sequence, plan.blocks);
  core.sequences.log().add(sequence, 0, plan.blocks);
  core.device.refresh_run(sequence);
}

}  // namespace

Result<Admission> BlockManager::admit(const Prompt& prompt, std::optional<TokenCount> room) {
  // Checks for permanent failures first, then for temporary ones.
  const Result<AdmissionPlan> plan = plan_admission(*core_, prompt, room);
  if (!plan.is_ok()) return plan.status().in("admit");
  RECTO_RETURN_IF_ERROR(check_room(*core_, plan.value()).in("admit"));
  SequenceTable& sequences = core_->sequences;
  if (sequences.num_free() == 0) {
    return Status::exhausted(message("admit: all ", sequences.size(), " sequences are in use"));
  }
  const std::int32_t index = sequences.open();
  carry_out(*core_, index, prompt, plan.value());
  return Admission{.sequence = sequences.handle(index),
                   .hit = TokenCount(core_->device.row(index).length)};
}

bool BlockManager::can_admit(const Prompt& prompt, std::optional<TokenCount> room) const {
  return core_->sequences.num_free() > 0 && fits(*core_, prompt, room);
}

Result<TokenCount> BlockManager::resume(SequenceHandle sequence, const Prompt& prompt,
                                        std::optional<TokenCount> room) {
  const Result<std::int32_t> index = core_->sequences.find_in(sequence, SequenceState::kPreempted);
  if (!index.is_ok()) return index.status().in("resume");
  const Result<AdmissionPlan> plan = plan_admission(*core_, prompt, room);
  if (!plan.is_ok()) return plan.status().in("resume");
  RECTO_RETURN_IF_ERROR(check_room(*core_, plan.value()).in("resume"));
  core_->sequences[index.value()].state = SequenceState::kRunning;
  carry_out(*core_, index.value(), prompt, plan.value());
  return TokenCount(core_->device.row(index.value()).length);
}

bool BlockManager::can_resume(SequenceHandle sequence, const Prompt& prompt,
                              std::optional<TokenCount> room) const {
  return core_->sequences.find_in(sequence, SequenceState::kPreempted).is_ok() &&
         fits(*core_, prompt, room);
}

TokenCount BlockManager::cached_prefix(const Prompt& prompt) const {
  if (!check_prompt(*core_, prompt, std::nullopt).is_ok()) return TokenCount(0);
  return TokenCount(match_prompt(*core_, prompt).blocks * core_->geometry.block_size());
}

Result<std::int64_t> BlockManager::hash_prompt(const Prompt& prompt,
                                               std::span<BlockHash> hashes) const {
  const Result<std::int64_t> written = cache::hash_prompt(core_->options, prompt, hashes);
  return written.is_ok() ? written : written.status().in("hash prompt");
}

}  // namespace recto::cache

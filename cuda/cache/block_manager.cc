#include "cuda/cache/block_manager.h"

#include <string>
#include <utility>

#include "core/contract.h"
#include "cuda/cache/admission.h"
#include "cuda/cache/branching.h"
#include "cuda/cache/cache_core.h"
#include "cuda/cache/giving_back.h"
#include "cuda/cache/growth.h"
#include "cuda/cache/pinning.h"
#include "cuda/cache/publication.h"
#include "cuda/cache/swapping.h"

namespace recto::cache {
namespace {

// Adds to a failure's message in which operation it occurred.
template <typename T>
Result<T> in(const char* operation, Result<T> result) {
  if (result.is_ok()) [[likely]]
    return result;
  return result.status().in(operation);
}

Status check_free_place(const CacheCore& core) {
  if (core.sequences.num_free() > 0) return Status::ok();
  return Status::exhausted("all " + std::to_string(core.sequences.size()) +
                           " sequences are in use");
}

// Whether there are blocks for a prompt; does not build a message if there are not.
bool fits(const CacheCore& core, const Prompt& prompt, std::optional<TokenCount> room) {
  const Result<AdmissionPlan> plan = plan_admission(core, prompt, room);
  return plan.is_ok() && has_room(core, plan.value());
}

// The index of a sequence that waits to be recomputed.
Result<std::int32_t> find_preempted(const CacheCore& core, SequenceHandle handle) {
  const Result<std::int32_t> index = core.sequences.find(handle);
  if (!index.is_ok()) return index;
  const SequenceState state = core.sequences[index.value()].state;
  if (state == SequenceState::kPreempted) return index;
  return Status::invalid_input("sequence " + internal::describe(handle) + " is " +
                               sequence_state_name(state) + "; expected preempted");
}

}  // namespace

Result<BlockManager> BlockManager::create(const CacheOptions& options) {
  Result<std::unique_ptr<CacheCore>> core = CacheCore::create(options);
  if (!core.is_ok()) return core.status();
  return BlockManager(std::move(core).value());
}

BlockManager::BlockManager(std::unique_ptr<CacheCore> core) : core_(std::move(core)) {}
BlockManager::BlockManager(BlockManager&&) noexcept = default;
BlockManager& BlockManager::operator=(BlockManager&&) noexcept = default;
BlockManager::~BlockManager() = default;

Result<Admission> BlockManager::admit(const Prompt& prompt, std::optional<TokenCount> room) {
  // First what can never succeed, then what cannot succeed now.
  const Result<AdmissionPlan> plan = plan_admission(*core_, prompt, room);
  if (!plan.is_ok()) return plan.status().in("admit");
  Status room_left = check_room(*core_, plan.value());
  if (room_left.is_ok()) room_left = check_free_place(*core_);
  if (!room_left.is_ok()) return room_left.in("admit");
  const std::int32_t index = core_->sequences.open();
  carry_out(*core_, index, prompt, plan.value());
  return Admission{.sequence = core_->sequences.handle(index),
                   .hit = TokenCount(core_->sequences[index].device.length)};
}

bool BlockManager::can_admit(const Prompt& prompt, std::optional<TokenCount> room) const {
  return core_->sequences.num_free() > 0 && fits(*core_, prompt, room);
}

Result<std::int64_t> BlockManager::hash_prompt(const Prompt& prompt,
                                               std::span<BlockHash> hashes) const {
  return in("hash prompt", cache::hash_prompt(*core_, prompt, hashes));
}

TokenCount BlockManager::cached_prefix(const Prompt& prompt) const {
  return cache::cached_prefix(*core_, prompt);
}

Result<std::span<const BlockCopy>> BlockManager::reserve(SequenceHandle sequence,
                                                         TokenCount length) {
  return in("reserve", cache::reserve(*core_, sequence, length));
}

Result<std::span<const BlockCopy>> BlockManager::append(SequenceHandle sequence, TokenCount count) {
  return in("append", cache::append(*core_, sequence, count));
}

Result<std::span<const BlockCopy>> BlockManager::append(std::span<const SequenceHandle> sequences) {
  // Not passed through in(): a step of one sequence is so short that moving the result matters.
  Result<std::span<const BlockCopy>> copies = cache::append(*core_, sequences);
  if (!copies.is_ok()) [[unlikely]]
    copies = copies.status().in("append");
  return copies;
}

bool BlockManager::can_append(std::span<const SequenceHandle> sequences) {
  return cache::can_append(*core_, sequences);
}

Status BlockManager::commit(SequenceHandle sequence, const Tokens& tokens) {
  return cache::commit(*core_, sequence, tokens).in("commit");
}

Result<SequenceHandle> BlockManager::fork(SequenceHandle parent) {
  return in("fork", cache::fork(*core_, parent));
}

Result<std::span<const SequenceHandle>> BlockManager::beam_step(
    std::span<const SequenceHandle> parents, std::span<const std::int32_t> parent_of) {
  return in("beam step", cache::beam_step(*core_, parents, parent_of));
}

Status BlockManager::truncate(SequenceHandle sequence, TokenCount length) {
  return cache::truncate(*core_, sequence, length).in("truncate");
}

Status BlockManager::release(SequenceHandle sequence) {
  return cache::release(*core_, sequence).in("release");
}

Status BlockManager::preempt(SequenceHandle sequence) {
  return cache::preempt(*core_, sequence).in("preempt");
}

Result<TokenCount> BlockManager::resume(SequenceHandle sequence, const Prompt& prompt,
                                        std::optional<TokenCount> room) {
  const Result<std::int32_t> index = find_preempted(*core_, sequence);
  if (!index.is_ok()) return index.status().in("resume");
  const Result<AdmissionPlan> plan = plan_admission(*core_, prompt, room);
  if (!plan.is_ok()) return plan.status().in("resume");
  RECTO_RETURN_IF_ERROR(check_room(*core_, plan.value()).in("resume"));
  core_->sequences[index.value()].state = SequenceState::kRunning;
  carry_out(*core_, index.value(), prompt, plan.value());
  return TokenCount(core_->sequences[index.value()].device.length);
}

bool BlockManager::can_resume(SequenceHandle sequence, const Prompt& prompt,
                              std::optional<TokenCount> room) const {
  return find_preempted(*core_, sequence).is_ok() && fits(*core_, prompt, room);
}

Result<Transfer> BlockManager::swap_out(std::span<const SequenceHandle> sequences) {
  return in("swap out", cache::swap_out(*core_, sequences));
}

bool BlockManager::can_swap_out(std::span<const SequenceHandle> sequences) const {
  return cache::can_swap_out(*core_, sequences);
}

Result<Transfer> BlockManager::swap_in(std::span<const SequenceHandle> sequences,
                                       TokenCount lookahead) {
  return in("swap in", cache::swap_in(*core_, sequences, lookahead));
}

bool BlockManager::can_swap_in(std::span<const SequenceHandle> sequences,
                               TokenCount lookahead) const {
  return cache::can_swap_in(*core_, sequences, lookahead);
}

Status BlockManager::complete(TransferHandle transfer) {
  return cache::complete(*core_, transfer).in("complete");
}

Result<Pin> BlockManager::pin(const Prompt& prompt) {
  return in("pin", cache::pin(*core_, prompt));
}

Status BlockManager::unpin(PinHandle pin) { return cache::unpin(*core_, pin).in("unpin"); }

void BlockManager::reset_prefix_cache() { cache::reset_prefix_cache(*core_); }

Result<SequenceView> BlockManager::view(SequenceHandle sequence) const {
  const Result<std::int32_t> index = core_->sequences.find(sequence);
  if (!index.is_ok()) return index.status().in("view");
  const Sequence& mine = core_->sequences[index.value()];
  const std::int64_t slots = mine.device.blocks * core_->geometry.block_size();
  return SequenceView{.state = mine.state,
                      .context_length = TokenCount(mine.context()),
                      .capacity = TokenCount(slots),
                      .published = BlockCount(mine.published)};
}

Result<std::span<const BlockId>> BlockManager::block_table(SequenceHandle sequence,
                                                           std::int32_t group) const {
  const Result<std::int32_t> index = core_->sequences.find(sequence);
  if (!index.is_ok()) return index.status().in("block table");
  if (group < 0 || group >= core_->geometry.num_groups()) {
    return Status::invalid_input("block table: group " + std::to_string(group) +
                                 "; expected 0 to " +
                                 std::to_string(core_->geometry.num_groups() - 1));
  }
  return core_->device.tables().row(index.value(), group,
                                    core_->sequences[index.value()].device.blocks);
}

BlockCount BlockManager::available_blocks() const { return core_->device.pool().available(); }

std::int32_t BlockManager::num_sequences() const {
  return core_->sequences.size() - core_->sequences.num_free();
}

PoolStates BlockManager::states() const { return core_->device.states(); }

GroupStates BlockManager::group_states(std::int32_t group) const {
  RECTO_CHECK_GE(group, 0);
  RECTO_CHECK_LT(group, core_->geometry.num_groups());
  return core_->device.group_states(group);
}

PoolStates BlockManager::host_states() const { return core_->host.states(); }

const CacheStatistics& BlockManager::statistics() const { return core_->statistics; }

CacheMemory BlockManager::memory() const {
  return {.block_bytes = core_->device.pool().bytes() + core_->index.bytes(),
          .token_bytes = core_->index.token_bytes(),
          .host_bytes = core_->host.pool().bytes() + core_->scratch.swaps.bytes(),
          .sequence_bytes = core_->sequences.bytes() + core_->device.tables().bytes() +
                            core_->host.tables().bytes() + core_->log.bytes() +
                            core_->transfers.bytes() + core_->pins.bytes() +
                            core_->scratch.sequence_bytes()};
}

const CacheOptions& BlockManager::options() const { return core_->options; }

}  // namespace recto::cache

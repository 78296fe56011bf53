// Preemption of the latest arrival: by recompute, which drops the context, or by swap, which moves
// it to the host and back. During a copy its slots stay held on both sides, used at the source and
// reserved at the destination, and nothing else runs, as in engines that issue swaps before the
// step that needs them.

#include <algorithm>

#include "core/contract.h"
#include "sim/scheduling/continuous_scheduler.h"

namespace recto::sim {
namespace {

// Blocks that the members of a swapped group need to write one token each: new blocks, and copies
// of shared blocks for all writers but one.
std::int64_t blocks_of_next_token(const TableShape& shape, std::int64_t context,
                                  std::int64_t block_size) {
  const auto place = static_cast<std::size_t>(context / block_size);
  std::vector<bool> is_written(static_cast<std::size_t>(shape.block_count));
  std::int64_t needed = 0;
  for (const std::vector<std::int32_t>& entries : shape.entries) {
    if (place >= entries.size()) {
      ++needed;
      continue;
    }
    const auto block = static_cast<std::size_t>(entries[place]);
    if (is_written[block]) ++needed;
    is_written[block] = true;
  }
  return needed;
}

}  // namespace

ContinuousScheduler::Serve ContinuousScheduler::preempt_latest(SimTime now) {
  const GroupIndex victim = batch_.running().back();
  const SequenceGroup& group = batch_.at(victim);
  // Several samples of one request cannot be recomputed cheaply: if the host has room, they are
  // swapped whatever the rule (as vLLM v0 does).
  const bool wants_swap = options_.preemption == PreemptionRule::kSwap || group.width() > 1;
  if (wants_swap && group.phase == SequenceGroupPhase::kDecoding) {
    const TokenCount slots =
        holdings_.allocator().shape(group.members, TokenCount(batch_.context(victim))).slots;
    if (host_.has_room_for(slots)) {
      begin_swap_out(victim, now);
      return Serve::kSwapping;
    }
  }
  preempted_ = true;
  forget(victim, now);
  return Serve::kPreempted;
}

void ContinuousScheduler::forget(GroupIndex index, SimTime now) {
  SequenceGroup& group = batch_.at(index);
  if (group.phase == SequenceGroupPhase::kDecoding) {
    batch_.stop_decoding(index);
    // The last sampled token is known too, although it is not cached yet.
    group.prefill_target = group.context + 1;
    group.computed_once = std::max(group.computed_once, group.context);
    group.refilled_members = 0;
    std::erase(forked_, index);
  } else {
    std::erase(prefilling_, index);
  }
  release_all(index);
  batch_.remove_running(index);
  group.phase = SequenceGroupPhase::kWaiting;
  group.context = 0;
  group.planned_chunk = 0;
  ++group.preemptions;
  ++counters_.preemptions_recompute;
  waiting_.push_front(index);
  if (observer_ != nullptr) observer_->on_preempted(group, PreemptionKind::kRecompute, now);
}

void ContinuousScheduler::begin_swap_out(GroupIndex index, SimTime now) {
  SequenceGroup& group = batch_.at(index);
  batch_.stop_decoding(index);
  std::erase(forked_, index);
  batch_.remove_running(index);
  group.phase = SequenceGroupPhase::kSwappingOut;
  group.parked = holdings_.allocator().shape(group.members, TokenCount(group.context));
  holdings_.allocator().begin_swap_out(group.members, TokenCount(group.context));
  host_.hold(holdings_.parked_states(group, 0));
  transferring_ = index;
  ++group.preemptions;
  ++counters_.preemptions_swap;
  counters_.swapped_out_slots += group.parked->slots.value();
  if (observer_ != nullptr) observer_->on_preempted(group, PreemptionKind::kSwap, now);
}

// Requires room for the next token of each member as well, or the group would be swapped out again
// at once. Requires no more, or a group that needs the whole pool would never resume.
bool ContinuousScheduler::has_room_to_resume(const SequenceGroup& group) const {
  const TokenCount block_size = holdings_.allocator().block_size();
  const std::int64_t next = blocks_of_next_token(*group.parked, group.context, block_size.value());
  const TokenCount spare = blocks_for(options_.watermark, block_size).value() * block_size;
  const PoolCounts counts = holdings_.allocator().counts();
  return group.parked->slots + next * block_size + spare <= counts.free + counts.cached;
}

std::optional<StepPlan> ContinuousScheduler::resume_swapped() {
  const GroupIndex index = swapped_.front();
  SequenceGroup& group = batch_.at(index);
  if (!has_room_to_resume(group)) return std::nullopt;
  RECTO_CHECK(holdings_.restore(group, options_.watermark));
  swapped_.pop_front();
  group.phase = SequenceGroupPhase::kSwappingIn;
  transferring_ = index;
  counters_.swapped_in_slots += group.parked->slots.value();
  return StepPlan{.kind = StepPlan::Kind::kSwapIn, .transfer = group.parked->slots};
}

void ContinuousScheduler::finish_transfer(SimTime now) {
  const GroupIndex index = *transferring_;
  transferring_.reset();
  SequenceGroup& group = batch_.at(index);
  if (group.phase == SequenceGroupPhase::kSwappingOut) {
    release_all(index);
    host_.release(holdings_.parked_states(group, 0));
    host_.hold(holdings_.parked_states(group, group.context));
    group.phase = SequenceGroupPhase::kSwapped;
    swapped_.push_front(index);
    return;
  }
  holdings_.finish_restore(group);
  host_.release(holdings_.parked_states(group, group.context));
  group.parked.reset();
  batch_.add_running(index);
  batch_.start_decoding(index, next_deadline(group, group.context));
  forked_.push_back(index);  // members may share their last blocks
  if (observer_ != nullptr) observer_->on_admitted(group, now);
}

void ContinuousScheduler::release_all(GroupIndex index) {
  const SequenceGroup& group = batch_.at(index);
  for (std::size_t member = 0; member < group.members.size(); ++member) {
    holdings_.release(group, member, batch_.context(group, member));
  }
}

}  // namespace recto::sim

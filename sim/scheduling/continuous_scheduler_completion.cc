// The end of a step: records written tokens, turns prompts into decoding sequences, switches beams,
// and ends requests, which return their slots.

#include <algorithm>
#include <limits>

#include "core/contract.h"
#include "sim/scheduling/continuous_scheduler.h"

namespace recto::sim {

void ContinuousScheduler::complete(SimTime now) {
  if (transferring_) {
    finish_transfer(now);
    return;
  }
  RECTO_CHECK(plan_.kind == StepPlan::Kind::kStep);
  complete_decode(now);
  if (prefilling_.empty()) return;
  touched_.assign(prefilling_.begin(), prefilling_.end());
  prefilling_.clear();
  for (const GroupIndex index : touched_) complete_prefill(index, now);
}

void ContinuousScheduler::complete_decode(SimTime now) {
  const std::int64_t sequences = batch_.decoding_sequences();
  if (sequences == 0) return;
  holdings_.write_one_each(sequences, batch_.sequences_beyond_window());
  batch_.tick();
  counters_.decode_tokens += sequences;
  counters_.output_tokens += sequences;
  touched_.clear();
  batch_.clock().take_deadlines(touched_);
  for (const GroupIndex index : touched_) handle_deadline(index, now);
}

void ContinuousScheduler::handle_deadline(GroupIndex index, SimTime now) {
  const std::int64_t context = batch_.context(index);
  const SequenceGroup& group = batch_.at(index);
  if (context == group.final_context()) {
    batch_.stop_decoding(index);
    finish(index, now);
    return;
  }
  const std::int64_t window = options_.window.value();
  if (window != 0 && context == window - 1) batch_.enter_beyond_window(index);
  if (group.beams != nullptr) switch_beams(index, context);
  batch_.set_deadline(index, next_deadline(group, context));
}

// Each beam, independently, dies with a fixed probability per step and is replaced by a fork of
// another beam, picked uniformly: one parameter for how often beams diverge.
void ContinuousScheduler::switch_beams(GroupIndex index, std::int64_t context) {
  SequenceGroup& group = batch_.at(index);
  BeamSwitches& beams = *group.beams;
  bool any = false;
  for (std::size_t child = 0; child < group.members.size(); ++child) {
    if (beams.next_context[child] != context) continue;
    auto parent = static_cast<std::size_t>(beams.stream.next_below(group.members.size() - 1));
    if (parent >= child) ++parent;
    holdings_.replace(group, parent, child, context);
    beams.next_context[child] = context + (*beam_gap_)(beams.stream);
    ++counters_.beam_switches;
    any = true;
  }
  if (any) forked_.push_back(index);
}

void ContinuousScheduler::complete_prefill(GroupIndex index, SimTime now) {
  SequenceGroup& group = batch_.at(index);
  const std::int64_t chunk = group.planned_chunk;
  const std::int64_t before = group.prefill_context;
  const std::int64_t after = before + chunk;
  holdings_.write(before, after);
  counters_.prefill_tokens += chunk;
  count_recomputed(group, after);
  group.prefill_context = after;
  group.planned_chunk = 0;
  commit(group, group.prefill_member, after);
  if (after < group.prefill_target) {
    prefilling_.push_back(index);
  } else {
    end_prefill(index, now);
  }
}

void ContinuousScheduler::count_recomputed(SequenceGroup& group, std::int64_t after) {
  const std::int64_t before = group.prefill_context;
  std::int64_t computed_once = group.computed_once;
  if (group.prefill_member == 0) {
    group.computed_once = std::max(group.computed_once, after);
  } else {
    // A further member prefills only after a preemption, up to its newest token.
    const bool refilled = group.prefill_member <= group.refilled_members;
    computed_once = group.prefill_target - (refilled ? 0 : 1);
    if (after == group.prefill_target && !refilled) group.refilled_members = group.prefill_member;
  }
  counters_.recomputed_tokens +=
      std::clamp<std::int64_t>(computed_once - before, 0, after - before);
}

void ContinuousScheduler::end_prefill(GroupIndex index, SimTime now) {
  SequenceGroup& group = batch_.at(index);
  const std::int64_t prompt = group.request.prompt_tokens.value();
  if (group.prefill_target == prompt) {
    for (std::size_t child = 1; child < group.members.size(); ++child) {
      holdings_.share(group, 0, child, prompt);
    }
  } else if (group.prefill_member + 1 < group.members.size()) {
    // After a preemption: the next member shares the full blocks of the prompt with the first
    // member, and recomputes the tokens behind them.
    const std::int64_t block_size = holdings_.allocator().block_size().value();
    const std::int64_t shared = prompt / block_size * block_size;
    ++group.prefill_member;
    holdings_.share(group, 0, group.prefill_member, shared);
    group.prefill_context = shared;
    prefilling_.push_back(index);
    return;
  }
  group.context = group.prefill_target;
  counters_.output_tokens += group.width();
  if (!group.has_first_token) {
    group.has_first_token = true;
    group.first_token = now;
    if (observer_ != nullptr) observer_->on_first_token(group, now);
  }
  if (group.context == group.final_context()) {
    group.phase =
        SequenceGroupPhase::kDecoding;  // for zero steps: its only output token is already out
    group.anchor_clock = batch_.clock().now();
    finish(index, now);
    return;
  }
  start_decoding(index);
}

void ContinuousScheduler::start_decoding(GroupIndex index) {
  SequenceGroup& group = batch_.at(index);
  if (group.request.decoding == Decoding::kBeam && group.width() > 1 && beam_gap_) {
    if (group.beams == nullptr) {
      group.beams = std::make_unique<BeamSwitches>(
          beam_streams_.split(static_cast<std::uint64_t>(group.request.id)));
    }
    group.beams->next_context.clear();
    for (std::int64_t beam = 0; beam < group.width(); ++beam) {
      group.beams->next_context.push_back(group.context + (*beam_gap_)(group.beams->stream));
    }
  }
  if (group.width() > 1) forked_.push_back(index);
  batch_.start_decoding(index, next_deadline(group, group.context));
}

// The context at which the next event of a decoding group is due.
std::int64_t ContinuousScheduler::next_deadline(const SequenceGroup& group,
                                                std::int64_t context) const {
  std::int64_t deadline = group.final_context();
  const std::int64_t window = options_.window.value();
  if (window != 0 && context < window - 1) deadline = std::min(deadline, window - 1);
  if (group.beams != nullptr) {
    for (const std::int64_t next : group.beams->next_context) deadline = std::min(deadline, next);
  }
  return deadline;
}

// Precondition: the group is no longer counted as decoding.
void ContinuousScheduler::finish(GroupIndex index, SimTime now) {
  SequenceGroup& group = batch_.at(index);
  commit_all(group, group.context);
  release_all(index);
  batch_.remove_running(index);
  holdings_.close(group);
  ++counters_.requests_finished;
  if (observer_ != nullptr) observer_->on_finished(group, now);
  batch_.destroy(index);
}

}  // namespace recto::sim

#include "sim/scheduling/continuous_scheduler.h"

#include <algorithm>
#include <utility>

#include "core/contract.h"
#include "sim/scheduling/visible_pairs.h"

namespace recto::sim {

ContinuousScheduler::ContinuousScheduler(const SchedulerOptions& options, Allocator& allocator,
                                         Counters& counters, SchedulerObserver* observer)
    : options_(options),
      counters_(counters),
      observer_(observer),
      holdings_(allocator, counters, options.window),
      batch_(allocator.is_paged() ? allocator.block_size().value() : 0, options.window.value()),
      host_(options.host_pool, allocator.block_size()),
      beam_streams_(RandomStream(options.seed).split("beams")) {
  RECTO_CHECK_GE(options.max_batched_tokens.value(), options.max_sequences);
  if (options.beam_switch_probability > 0) beam_gap_.emplace(options.beam_switch_probability);
}

void ContinuousScheduler::enqueue(const Request& request, SimTime now) {
  ++counters_.requests_arrived;
  const Allocator& allocator = holdings_.allocator();
  if (request.width > options_.max_sequences || request.final_length() > options_.max_length ||
      !allocator.can_ever_hold(request, options_.watermark)) {
    ++counters_.requests_rejected;
    if (observer_ != nullptr) observer_->on_rejected(request, now);
    return;
  }
  const GroupIndex index = batch_.create(request);
  SequenceGroup& group = batch_.at(index);
  group.prefill_target = request.prompt_tokens.value();
  holdings_.open(group);
  waiting_.push_back(index);
  if (observer_ != nullptr) observer_->on_arrived(group, now);
}

const StepPlan& ContinuousScheduler::plan(SimTime now) {
  RECTO_CHECK(!transferring_);
  plan_ = StepPlan();
  prefill_planned_ = false;
  preempted_ = false;
  if (const auto swap = serve_running(now)) return plan_ = *swap;
  if (!preempted_) {
    if (const auto swap = admit_waiting(now)) return plan_ = *swap;
  }
  if (batch_.running().empty()) return plan_;
  plan_.kind = StepPlan::Kind::kStep;
  batch_.add_decode_load(plan_.load);
  plan_.load.copied_slots = holdings_.take_copied_slots();
  ++counters_.steps;
  return plan_;
}

// Collects the groups that need slots before the step: those that write into a new or a shared
// block, and those that prefill. All others have room for the token that they compute.
void ContinuousScheduler::collect_touched() {
  const std::vector<GroupIndex>& due = batch_.clock().due();
  touched_.clear();
  if (!append_blocks_to_due()) touched_.assign(due.begin(), due.end());
  if (prefilling_.empty() && forked_.empty()) return;
  touched_.insert(touched_.end(), forked_.begin(), forked_.end());
  touched_.insert(touched_.end(), prefilling_.begin(), prefilling_.end());
  std::sort(touched_.begin(), touched_.end(),
            [this](GroupIndex a, GroupIndex b) { return request_id(a) < request_id(b); });
  touched_.erase(std::unique(touched_.begin(), touched_.end()), touched_.end());
}

// Handles all groups that write into a new block at once, in the common case: nothing is shared,
// there is room for all, and this tick was not planned before (a swap causes a second plan).
// Changes nothing if it returns false.
bool ContinuousScheduler::append_blocks_to_due() {
  const DecodeClock& clock = batch_.clock();
  const bool is_replanned = std::exchange(planned_tick_, clock.now()) == clock.now();
  if (clock.due().empty()) return true;
  if (is_replanned || holdings_.finds_prefixes() || !forked_.empty()) return false;
  batch_.collect_due_blocks(due_blocks_);
  return holdings_.append_blocks(due_blocks_.sequences, due_blocks_.wanted);
}

std::optional<StepPlan> ContinuousScheduler::serve_running(SimTime now) {
  // Decoding groups arrived before prefilling ones, so their tokens are taken from the budget
  // first.
  budget_ = options_.max_batched_tokens.value() - batch_.decoding_sequences();
  collect_touched();
  for (const GroupIndex index : touched_) {
    const SequenceGroupPhase phase = batch_.at(index).phase;
    if (phase != SequenceGroupPhase::kDecoding && phase != SequenceGroupPhase::kPrefilling)
      continue;
    if (serve(index, now) == Serve::kSwapping) {
      const TokenCount slots = batch_.at(*transferring_).parked->slots;
      return StepPlan{.kind = StepPlan::Kind::kSwapOut, .transfer = slots};
    }
  }
  forked_.clear();
  return std::nullopt;
}

ContinuousScheduler::Serve ContinuousScheduler::serve(GroupIndex index, SimTime now) {
  while (!give_slots(index)) {
    const GroupIndex victim = batch_.running().back();
    if (preempt_latest(now) == Serve::kSwapping) return Serve::kSwapping;
    if (victim == index) return Serve::kPreempted;
  }
  return Serve::kServed;
}

// If it returns false, members keep the slots that they already got: they need them anyway, or give
// them back when the group is preempted.
bool ContinuousScheduler::give_slots(GroupIndex index) {
  SequenceGroup& group = batch_.at(index);
  if (group.phase == SequenceGroupPhase::kPrefilling) {
    const std::int64_t context = group.prefill_context;
    group.planned_chunk = chunk_for(group.prefill_target - context);
    if (group.planned_chunk == 0) return true;
    const std::int64_t end = context + group.planned_chunk;
    if (!holdings_.grow(group, group.prefill_member, context, end)) return false;
    plan_prefill(group, context);
    return true;
  }
  const std::int64_t context = batch_.context(index);
  commit_all(group, context);
  for (std::size_t member = 0; member < group.members.size(); ++member) {
    if (!holdings_.grow(group, member, context, context + 1)) return false;
  }
  return true;
}

std::int64_t ContinuousScheduler::chunk_for(std::int64_t missing) const {
  if (options_.prefill == PrefillRule::kChunked) return std::min(missing, budget_);
  return missing <= budget_ || !prefill_planned_ ? missing : 0;
}

void ContinuousScheduler::plan_prefill(SequenceGroup& group, std::int64_t context) {
  const std::int64_t chunk = group.planned_chunk;
  budget_ = std::max<std::int64_t>(budget_ - chunk, 0);
  prefill_planned_ = true;
  StepLoad& load = plan_.load;
  ++load.prefill_sequences;
  load.prefill_tokens += TokenCount(chunk);
  const std::int64_t window = options_.window.value();
  const std::int64_t visible = window == 0 ? context : std::min(context, window - 1);
  load.prefill_kv_tokens += TokenCount(visible + chunk);
  load.prefill_pairs += visible_pairs(context, chunk, window);
}

std::optional<StepPlan> ContinuousScheduler::admit_waiting(SimTime now) {
  while (const std::optional<GroupIndex> head = queue_head()) {
    if (batch_.running_sequences() + batch_.at(*head).width() > options_.max_sequences) break;
    if (batch_.at(*head).phase == SequenceGroupPhase::kSwapped) return resume_swapped();
    if (budget_ == 0 || !admit(*head, now)) break;
    waiting_.pop_front();
  }
  return std::nullopt;
}

// The next group of the queue, among waiting and swapped groups.
std::optional<GroupIndex> ContinuousScheduler::queue_head() const {
  if (waiting_.empty() && swapped_.empty()) return std::nullopt;
  if (swapped_.empty()) return waiting_.front();
  if (waiting_.empty()) return swapped_.front();
  const bool swapped_first = request_id(swapped_.front()) < request_id(waiting_.front());
  return swapped_first ? swapped_.front() : waiting_.front();
}

// Whether the head of the queue finds room now, regardless of the limits on sequences and tokens.
// The first chunk is taken as in an idle step: a group that lacks room for a smaller chunk also
// lacks room for this one.
Fit ContinuousScheduler::head_fit() const {
  const std::optional<GroupIndex> head = queue_head();
  if (!head) return Fit::kFits;
  const SequenceGroup& group = batch_.at(*head);
  if (group.phase == SequenceGroupPhase::kSwapped) {
    return has_room_to_resume(group) ? Fit::kFits : Fit::kShort;
  }
  const Allocator& allocator = holdings_.allocator();
  TokenCount wanted(group.prefill_target);
  if (options_.admission == AdmissionRule::kFirstChunk &&
      options_.prefill == PrefillRule::kChunked) {
    const TokenCount cached = allocator.cached_prefix(group.members.front(), wanted);
    wanted = std::min(wanted, cached + options_.max_batched_tokens);
  }
  return allocator.fit(group.members, wanted, options_.watermark);
}

bool ContinuousScheduler::admit(GroupIndex index, SimTime now) {
  SequenceGroup& group = batch_.at(index);
  Allocator& allocator = holdings_.allocator();
  const TokenCount target(group.prefill_target);
  const std::int64_t cached = allocator.cached_prefix(group.members.front(), target).value();
  const std::int64_t chunk = chunk_for(target.value() - cached);
  if (chunk == 0) return false;
  const TokenCount first(cached + chunk);
  const TokenCount wanted = options_.admission == AdmissionRule::kWholePrompt ? target : first;
  if (allocator.fit(group.members, wanted, options_.watermark) != Fit::kFits) return false;
  const std::optional<std::int64_t> hit = holdings_.admit(group, first.value());
  RECTO_CHECK(hit.has_value());
  RECTO_CHECK_EQ(*hit, cached);
  counters_.prefix_query_tokens += target.value();
  counters_.prefix_hit_tokens += cached;
  if (group.was_admitted) {
    counters_.readmitted_query_tokens += target.value();
    counters_.readmitted_hit_tokens += cached;
  }
  counters_.prefix_hit_pairs += visible_pairs(0, cached, options_.window.value());
  group.phase = SequenceGroupPhase::kPrefilling;
  group.prefill_member = 0;
  group.prefill_context = cached;
  group.planned_chunk = chunk;
  if (!group.was_admitted) group.admitted = now;
  group.was_admitted = true;
  batch_.add_running(index);
  prefilling_.push_back(index);
  plan_prefill(group, cached);
  if (observer_ != nullptr) observer_->on_admitted(group, now);
  return true;
}

// Beams write different tokens into one sequence, so only their prompt has an identity.
void ContinuousScheduler::commit(const SequenceGroup& group, std::size_t member,
                                 std::int64_t context) {
  const bool beams = group.request.decoding == Decoding::kBeam && group.width() > 1;
  const std::int64_t known =
      beams ? std::min(context, group.request.prompt_tokens.value()) : context;
  holdings_.commit(group, member, known);
}

void ContinuousScheduler::commit_all(const SequenceGroup& group, std::int64_t context) {
  if (!holdings_.finds_prefixes()) return;
  for (std::size_t member = 0; member < group.members.size(); ++member) {
    commit(group, member, context);
  }
}

GaugeValues ContinuousScheduler::gauges() const {
  return gauge_values(
      holdings_, batch_,
      {.waiting_requests = static_cast<std::int64_t>(waiting_.size() + swapped_.size()),
       .head = head_fit(),
       .host = host_.states()});
}

std::vector<const SequenceGroup*> ContinuousScheduler::holders() const {
  std::vector<const SequenceGroup*> holders;
  for (const GroupIndex index : batch_.running()) holders.push_back(&batch_.at(index));
  for (const GroupIndex index : swapped_) holders.push_back(&batch_.at(index));
  if (transferring_) holders.push_back(&batch_.at(*transferring_));
  return holders;
}

}  // namespace recto::sim

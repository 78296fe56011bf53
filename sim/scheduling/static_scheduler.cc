#include "sim/scheduling/static_scheduler.h"

#include <algorithm>

#include "core/contract.h"
#include "sim/scheduling/visible_pairs.h"

namespace recto::sim {

StaticScheduler::StaticScheduler(const SchedulerOptions& options, Allocator& allocator,
                                 Counters& counters, SchedulerObserver* observer)
    : options_(options),
      counters_(counters),
      observer_(observer),
      holdings_(allocator, counters, options.window),
      batch_(allocator.is_paged() ? allocator.block_size().value() : 0, options.window.value()),
      host_(options.host_pool, allocator.block_size()) {}

void StaticScheduler::enqueue(const Request& request, SimTime now) {
  RECTO_CHECK_EQ(request.width, 1);
  ++counters_.requests_arrived;
  if (request.final_length() > options_.max_length ||
      !holdings_.allocator().can_ever_hold(request, options_.watermark)) {
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

const StepPlan& StaticScheduler::plan(SimTime now) {
  is_prefill_ = batch_.running().empty();
  if (is_prefill_) form_batch(now);
  plan_ = StepPlan();
  if (batch_.running().empty()) return plan_;
  ++counters_.steps;
  plan_.kind = StepPlan::Kind::kStep;
  const auto rows = batch_.running().size();
  if (is_prefill_) {
    plan_.load.prefill_sequences = rows;
    plan_.load.prefill_tokens = TokenCount(rows * padded_prompt_);
    plan_.load.prefill_kv_tokens = TokenCount(rows * padded_prompt_);
    plan_.load.prefill_pairs = rows * visible_pairs(0, padded_prompt_, options_.window.value());
    return plan_;
  }
  // Finished rows are still computed, as if they continued from their end.
  batch_.add_decode_load(plan_.load);
  plan_.load.decode_sequences = rows;
  for (const GroupIndex index : batch_.running()) {
    const SequenceGroup& group = batch_.at(index);
    if (group.phase != SequenceGroupPhase::kDecoding)
      batch_.add_row_load(group.context, plan_.load);
  }
  return plan_;
}

void StaticScheduler::form_batch(SimTime now) {
  padded_prompt_ = 0;
  while (!waiting_.empty() && batch_.running_sequences() < options_.max_sequences) {
    if (!admit(waiting_.front(), now)) break;
    waiting_.pop_front();
  }
  unanswered_ = batch_.running().size();
}

Fit StaticScheduler::fit(const SequenceGroup& group) const {
  const TokenCount prompt = group.request.prompt_tokens;
  const TokenCount whole = group.request.final_context();
  const Allocator& allocator = holdings_.allocator();
  TokenCount spare = options_.watermark;
  if (allocator.is_paged()) {
    const TokenCount block = allocator.block_size();
    spare += (blocks_for(whole, block) - blocks_for(prompt, block)).value() * block;
  }
  return allocator.fit(group.members, prompt, spare);
}

bool StaticScheduler::admit(GroupIndex index, SimTime now) {
  SequenceGroup& group = batch_.at(index);
  if (fit(group) != Fit::kFits) return false;
  const TokenCount prompt = group.request.prompt_tokens;
  // Only the prompt may be found cached, because the output is still to be written. Rows of a
  // padded batch are computed from their first token in any case.
  group.prefill_context = holdings_.admit(group, prompt.value()).value();
  RECTO_CHECK(holdings_.grow(group, 0, group.prefill_context, group.final_context()));
  group.phase = SequenceGroupPhase::kPrefilling;
  group.admitted = now;
  group.was_admitted = true;
  padded_prompt_ = std::max(padded_prompt_, group.request.prompt_tokens.value());
  batch_.add_running(index);
  if (observer_ != nullptr) observer_->on_admitted(group, now);
  return true;
}

void StaticScheduler::complete(SimTime now) {
  if (is_prefill_) {
    complete_prefill(now);
  } else {
    const std::int64_t sequences = batch_.decoding_sequences();
    holdings_.write_one_each(sequences, batch_.sequences_beyond_window());
    batch_.tick();
    counters_.decode_tokens += sequences;
    counters_.output_tokens += sequences;
    deadlines_.clear();
    batch_.clock().take_deadlines(deadlines_);
    for (const GroupIndex index : deadlines_) handle_deadline(index, now);
  }
  if (unanswered_ == 0) disband();
}

void StaticScheduler::complete_prefill(SimTime now) {
  for (const GroupIndex index : batch_.running()) {
    SequenceGroup& group = batch_.at(index);
    const std::int64_t prompt = group.request.prompt_tokens.value();
    holdings_.write(group.prefill_context, prompt);
    counters_.prefill_tokens += prompt;
    counters_.output_tokens += 1;
    group.context = prompt;
    group.first_token = now;
    group.has_first_token = true;
    if (observer_ != nullptr) observer_->on_first_token(group, now);
    if (group.context == group.final_context()) {
      answer(index, now);
    } else {
      batch_.start_decoding(index, next_deadline(group, prompt));
    }
  }
}

std::int64_t StaticScheduler::next_deadline(const SequenceGroup& group,
                                            std::int64_t context) const {
  const std::int64_t window = options_.window.value();
  const bool enters_window = window != 0 && context < window - 1;
  return enters_window ? std::min(group.final_context(), window - 1) : group.final_context();
}

void StaticScheduler::handle_deadline(GroupIndex index, SimTime now) {
  const SequenceGroup& group = batch_.at(index);
  const std::int64_t context = batch_.context(index);
  if (context == group.final_context()) {
    batch_.stop_decoding(index);
    answer(index, now);
    return;
  }
  batch_.enter_beyond_window(index);
  batch_.set_deadline(index, next_deadline(group, context));
}

// The answer is complete, but the row stays in the batch and keeps its slots.
void StaticScheduler::answer(GroupIndex index, SimTime now) {
  SequenceGroup& group = batch_.at(index);
  group.phase = SequenceGroupPhase::kAnswered;
  --unanswered_;
  ++counters_.requests_finished;
  if (observer_ != nullptr) observer_->on_finished(group, now);
}

void StaticScheduler::disband() {
  while (!batch_.running().empty()) {
    const GroupIndex index = batch_.running().front();
    const SequenceGroup& group = batch_.at(index);
    holdings_.commit(group, 0, group.context);
    holdings_.release(group, 0, group.context);
    holdings_.close(group);
    batch_.remove_running(index);
    batch_.destroy(index);
  }
}

GaugeValues StaticScheduler::gauges() const {
  return gauge_values(holdings_, batch_,
                      {.waiting_requests = static_cast<std::int64_t>(waiting_.size()),
                       .head = waiting_.empty() ? Fit::kFits : fit(batch_.at(waiting_.front())),
                       .host = host_.states()});
}

std::vector<const SequenceGroup*> StaticScheduler::holders() const {
  std::vector<const SequenceGroup*> holders;
  for (const GroupIndex index : batch_.running()) holders.push_back(&batch_.at(index));
  return holders;
}

}  // namespace recto::sim

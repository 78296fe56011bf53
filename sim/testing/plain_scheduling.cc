// Plans a step by a walk over all running sequences.

#include <algorithm>
#include <utility>

#include "core/contract.h"
#include "sim/testing/plain_simulation.h"

namespace recto::sim {

void PlainSimulation::plan() {
  load_ = StepLoad();
  prefill_planned_ = false;
  preempted_ = false;
  serve_running();
  if (!preempted_) admit_waiting();
  if (running_.empty()) return;
  for (const std::int64_t id : running_) {
    const PlainSequence& sequence = sequences_.at(id);
    if (!sequence.decoding) continue;
    ++load_.decode_sequences;
    load_.decode_kv_tokens += TokenCount(sequence.context + 1);
    load_.decode_kv_blocks += BlockCount(blocks_for(sequence.context + 1));
  }
  ++report_.counters.steps;
  const StepCost cost = time_model_.cost(load_);
  report_.time_spent.fixed += cost.fixed;
  report_.time_spent.linear += cost.linear;
  report_.time_spent.attention += cost.attention;
  report_.time_spent.copy += cost.copy;
  report_.time_spent.overlap += cost.overlap;
  step_end_ = now_ + cost.total();
}

void PlainSimulation::serve_running() {
  budget_ = options_.scheduler.max_batched_tokens.value();
  for (const std::int64_t id : running_) budget_ -= sequences_.at(id).decoding ? 1 : 0;
  for (std::size_t place = 0; place < running_.size(); ++place) {
    const std::int64_t id = running_[place];
    PlainSequence& sequence = sequences_.at(id);
    const std::int64_t chunk =
        sequence.decoding ? 1 : chunk_for(sequence.target - sequence.context);
    sequence.chunk = chunk;
    if (chunk == 0) continue;
    while (!give_slots(sequence, sequence.context + chunk)) {
      const bool itself = running_.back() == id;
      preempt_last();
      if (itself) return;  // it was the last one
    }
    if (!sequence.decoding) charge_prefill(sequence, chunk);
  }
}

std::int64_t PlainSimulation::chunk_for(std::int64_t missing) const {
  if (options_.scheduler.prefill == PrefillRule::kChunked) return std::min(missing, budget_);
  return missing <= budget_ || !prefill_planned_ ? missing : 0;
}

void PlainSimulation::charge_prefill(PlainSequence& sequence, std::int64_t chunk) {
  sequence.chunk = chunk;
  budget_ = std::max<std::int64_t>(budget_ - chunk, 0);
  prefill_planned_ = true;
  ++load_.prefill_sequences;
  load_.prefill_tokens += TokenCount(chunk);
  load_.prefill_kv_tokens += TokenCount(sequence.context + chunk);
  // The first query sees `context` tokens and itself, each later query one more, the last one all.
  const std::int64_t seen_first = sequence.context + 1;
  const std::int64_t seen_last = sequence.context + chunk;
  load_.prefill_pairs += (seen_first + seen_last) * chunk / 2;
}

bool PlainSimulation::give_slots(PlainSequence& sequence, std::int64_t length) {
  const std::int64_t missing =
      blocks_for(length) - static_cast<std::int64_t>(sequence.blocks.size());
  if (missing > free_blocks()) return false;
  for (std::int64_t i = 0; i < missing; ++i) {
    sequence.blocks.push_back(free_.front());
    free_.pop_front();
  }
  return true;
}

void PlainSimulation::preempt_last() {
  const std::int64_t id = running_.back();
  running_.pop_back();
  PlainSequence& sequence = sequences_.at(id);
  if (sequence.decoding) {
    sequence.target = sequence.context + 1;
    sequence.computed_once = std::max(sequence.computed_once, sequence.context);
  }
  release(sequence);
  sequence.decoding = false;
  sequence.context = 0;
  sequence.chunk = 0;
  waiting_.push_front(id);
  preempted_ = true;
  ++report_.counters.preemptions_recompute;
}

void PlainSimulation::admit_waiting() {
  const SchedulerOptions& rules = options_.scheduler;
  while (!waiting_.empty() && budget_ > 0 &&
         static_cast<std::int64_t>(running_.size()) < rules.max_sequences) {
    PlainSequence& sequence = sequences_.at(waiting_.front());
    const std::int64_t chunk = chunk_for(sequence.target);
    if (chunk == 0) return;
    const bool whole = rules.admission == AdmissionRule::kWholePrompt;
    if (blocks_for(whole ? sequence.target : chunk) + watermark_blocks() > free_blocks()) return;
    RECTO_CHECK(give_slots(sequence, chunk));
    report_.counters.prefix_query_tokens += sequence.target;
    if (sequence.was_admitted) report_.counters.readmitted_query_tokens += sequence.target;
    if (!sequence.was_admitted) sequence.admitted = now_;
    sequence.was_admitted = true;
    if (!metrics_.is_open()) metrics_.open(now_);
    charge_prefill(sequence, chunk);
    running_.push_back(waiting_.front());
    waiting_.pop_front();
  }
}

void PlainSimulation::complete() {
  Counters& counters = report_.counters;
  std::vector<std::int64_t> still_running;
  for (const std::int64_t id : running_) {
    PlainSequence& sequence = sequences_.at(id);
    if (sequence.decoding) {
      ++counters.decode_tokens;
    } else {
      counters.prefill_tokens += sequence.chunk;
      counters.recomputed_tokens +=
          std::clamp<std::int64_t>(sequence.computed_once - sequence.context, 0, sequence.chunk);
    }
    sequence.context += sequence.chunk;
    sequence.computed_once = std::max(sequence.computed_once, sequence.context);
    if (sequence.context >= sequence.target) {
      ++counters.output_tokens;
      sequence.decoding = true;
      if (!sequence.has_first_token) sequence.first_token = now_;
      sequence.has_first_token = true;
    }
    if (sequence.context < sequence.request.final_context().value() || !sequence.decoding) {
      still_running.push_back(id);
      continue;
    }
    release(sequence);
    latencies_.add({.arrival = sequence.request.arrival,
                    .admitted = sequence.admitted,
                    .first_token = sequence.first_token,
                    .last_token = now_,
                    .output_tokens = sequence.request.output_tokens});
    last_answer_ = now_;
    ++counters.requests_finished;
    source_.finish(id, now_);
    sequences_.erase(id);
  }
  running_ = std::move(still_running);
}

void PlainSimulation::release(PlainSequence& sequence) {
  for (const std::int64_t block : sequence.blocks) free_.push_back(block);
  sequence.blocks.clear();
}

}  // namespace recto::sim

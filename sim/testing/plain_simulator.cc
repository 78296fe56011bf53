#include "sim/testing/plain_simulator.h"

#include <algorithm>
#include <utility>

#include "core/contract.h"
#include "sim/testing/plain_simulation.h"

namespace recto::sim {

Result<Report> PlainSimulation::run() {
  metrics_.set(gauges());
  Result<std::optional<Request>> next = source_.next();
  RECTO_RETURN_IF_ERROR(next.status());
  while (next.value() || step_end_) {
    const bool step_first = step_end_ && (!next.value() || *step_end_ <= next.value()->arrival);
    now_ = step_first ? *step_end_ : next.value()->arrival;
    metrics_.advance(now_);
    if (step_end_ && *step_end_ == now_) {
      step_end_.reset();
      complete();
    }
    while (next.value() && next.value()->arrival == now_) {
      if (!first_arrival_) first_arrival_ = now_;
      arrive(*next.value());
      next = source_.next();
      RECTO_RETURN_IF_ERROR(next.status());
      if (!next.value() && metrics_.is_open()) metrics_.close(now_);
    }
    if (!step_end_) plan();
    metrics_.set(gauges());
  }
  return report();
}

void PlainSimulation::arrive(const Request& request) {
  RECTO_CHECK_EQ(request.width, 1);
  ++report_.counters.requests_arrived;
  if (request.final_length() > options_.scheduler.max_length ||
      blocks_for(request.final_context().value()) + watermark_blocks() > total_blocks_) {
    ++report_.counters.requests_rejected;
    if (report_.rejected_ids.size() < 100) report_.rejected_ids.push_back(request.id);
    return;
  }
  PlainSequence& sequence = sequences_[request.id];
  sequence.request = request;
  sequence.target = request.prompt_tokens.value();
  waiting_.push_back(request.id);
}

// Whether the first request in the queue finds room, regardless of other limits.
bool PlainSimulation::head_fits() const {
  if (waiting_.empty()) return true;
  const SchedulerOptions& rules = options_.scheduler;
  std::int64_t wanted = sequences_.at(waiting_.front()).target;
  if (rules.admission == AdmissionRule::kFirstChunk && rules.prefill == PrefillRule::kChunked) {
    wanted = std::min(wanted, rules.max_batched_tokens.value());
  }
  return blocks_for(wanted) + watermark_blocks() <= free_blocks();
}

GaugeValues PlainSimulation::gauges() const {
  GaugeValues values;
  std::int64_t held_blocks = 0;
  for (const std::int64_t id : running_) {
    const PlainSequence& sequence = sequences_.at(id);
    const std::int64_t held = static_cast<std::int64_t>(sequence.blocks.size()) * block_size();
    const std::int64_t wanted = std::min(held, sequence.request.final_context().value());
    values[Gauge::kUsed] += sequence.context;
    values[Gauge::kReserved] += wanted - sequence.context;
    values[Gauge::kTail] += held - wanted;
    held_blocks += static_cast<std::int64_t>(sequence.blocks.size());
  }
  const std::int64_t free = free_blocks() * block_size();
  values[Gauge::kFree] = free;
  values[Gauge::kOverhead] = pool_.pool_slots.value() - total_blocks_ * block_size();
  values[Gauge::kBlockedFree] = head_fits() ? 0 : free;
  values[Gauge::kLargestHole] = free;
  values[Gauge::kRunningSequences] = static_cast<std::int64_t>(running_.size());
  values[Gauge::kRunningRequests] = static_cast<std::int64_t>(running_.size());
  values[Gauge::kWaitingRequests] = static_cast<std::int64_t>(waiting_.size());
  values[Gauge::kTableEntries] = held_blocks;
  values[Gauge::kHeldBlocks] = held_blocks;
  const std::int64_t host = options_.scheduler.host_pool.value();
  values[Gauge::kHostOverhead] = host % block_size();
  values[Gauge::kHostFree] = host - host % block_size();
  return values;
}

Report PlainSimulation::report() {
  report_.pool_slots = pool_.pool_slots;
  report_.host_pool_slots = options_.scheduler.host_pool;
  report_.block_size = pool_.block_size;
  report_.allocator = "paged, block " + std::to_string(block_size());
  report_.time_model = time_model_.describe();
  if (first_arrival_ && last_answer_ > *first_arrival_) {
    report_.makespan = last_answer_ - *first_arrival_;
  }
  metrics_.finish();
  report_.covered = metrics_.covered();
  report_.covers_drain = metrics_.covers_drain();
  report_.gauges = metrics_.summaries();
  report_.series = metrics_.series();
  latencies_.write_to(report_);
  return std::move(report_);
}

Result<Report> simulate_plainly(RequestSource& source, const PagedOptions& pool,
                                const TimeModel& time_model, const SimulationOptions& options) {
  return PlainSimulation(source, pool, time_model, options).run();
}

}  // namespace recto::sim

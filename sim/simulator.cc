#include "sim/simulator.h"

#include <optional>
#include <utility>

#include "core/contract.h"
#include "sim/event_queue.h"
#include "sim/scheduling/continuous_scheduler.h"
#include "sim/scheduling/static_scheduler.h"

namespace recto::sim {
namespace {

constexpr const char* kNoSharedWindow =
    "1: with a sliding window, slots of shared blocks outside the window are not modelled";

Status check_options(const SimulationOptions& options, const Allocator& allocator) {
  const SchedulerOptions& rules = options.scheduler;
  if (rules.max_sequences < 1) return Status::invalid_input("max_sequences: expected at least 1");
  if (rules.max_batched_tokens.value() < rules.max_sequences) {
    return Status::invalid_input("max_batched_tokens: expected at least max_sequences");
  }
  if (rules.window.value() != 0 && allocator.reuses_prefixes()) {
    return Status::invalid_input(
        "window: expected none with a prefix cache; slots of shared blocks outside the window are "
        "not modelled");
  }
  return Status::ok();
}

class Simulation final : public SchedulerObserver {
 public:
  Simulation(RequestSource& source, Allocator& allocator, const TimeModel& time_model,
             const SimulationOptions& options, SimulationObserver* observer)
      : source_(source),
        time_model_(time_model),
        options_(options),
        observer_(observer),
        allocator_(allocator),
        metrics_(options.metrics),
        latencies_(options.limits) {
    if (options.batching == Batching::kStatic) {
      scheduler_ =
          std::make_unique<StaticScheduler>(options.scheduler, allocator, report_.counters, this);
    } else {
      scheduler_ = std::make_unique<ContinuousScheduler>(options.scheduler, allocator,
                                                         report_.counters, this);
    }
  }

  Result<Report> run();

  void on_arrived(const SequenceGroup& group, SimTime now) override;
  void on_rejected(const Request& request, SimTime now) override;
  void on_admitted(const SequenceGroup& group, SimTime now) override;
  void on_first_token(const SequenceGroup& group, SimTime now) override;
  void on_preempted(const SequenceGroup& group, PreemptionKind kind, SimTime now) override;
  void on_finished(const SequenceGroup& group, SimTime now) override;

 private:
  Status schedule_arrival();
  Status refuse_past();
  Status receive(SimTime now);
  Status check_request(const Request& request) const;
  Status handle(const Event& event);
  void start_next(SimTime now);
  SimDuration transfer_time(TokenCount slots) const;
  void spend(const StepCost& cost);
  void write_report();

  RequestSource& source_;
  const TimeModel& time_model_;
  const SimulationOptions& options_;
  SimulationObserver* observer_;
  Allocator& allocator_;
  std::unique_ptr<Scheduler> scheduler_;
  EventQueue events_;
  TimeWeighted metrics_;
  RequestLatencies latencies_;
  Report report_;

  std::optional<SimTime> next_arrival_;  // time of the scheduled arrival event
  bool is_busy_ = false;                 // a step or a transfer is in progress
  bool was_answered_ = false;            // since the last query for an arrival
  std::optional<SimTime> first_arrival_;
  SimTime last_answer_;
};

Result<Report> Simulation::run() {
  metrics_.set(scheduler_->gauges());
  RECTO_RETURN_IF_ERROR(schedule_arrival());
  while (!events_.empty()) {
    // Everything that happens at one instant is handled before the next step is planned.
    bool happened = false;
    do {
      const Event event = events_.pop();
      if (event.kind == EventKind::kArrival && next_arrival_ != event.time) continue;  // superseded
      happened = true;
      metrics_.advance(event.time);
      RECTO_RETURN_IF_ERROR(handle(event));
    } while (!events_.empty() && events_.next_time() == events_.now());
    if (!happened) continue;
    if (!is_busy_) start_next(events_.now());
    const GaugeValues gauges = scheduler_->gauges();
    metrics_.set(gauges);
    if (observer_ != nullptr) observer_->on_gauges(gauges, *scheduler_, events_.now());
  }
  RECTO_CHECK(source_.exhausted());
  RECTO_CHECK_EQ(report_.counters.requests_arrived,
                 report_.counters.requests_finished + report_.counters.requests_rejected);
  write_report();
  return std::move(report_);
}

// In a closed loop, an answer may make the next arrival earlier; the event of the later arrival is
// then ignored.
Status Simulation::schedule_arrival() {
  const Result<std::optional<SimTime>> next = source_.next_arrival();
  RECTO_RETURN_IF_ERROR(next.status());
  if (!next.value() || (next_arrival_ && *next_arrival_ <= *next.value())) return Status::ok();
  next_arrival_ = next.value();
  if (*next_arrival_ < events_.now()) return refuse_past();
  events_.schedule(*next_arrival_, EventKind::kArrival);
  return Status::ok();
}

Status Simulation::refuse_past() {
  const Result<std::optional<Request>> request = source_.next();
  RECTO_RETURN_IF_ERROR(request.status());
  return Status::invalid_input("request " + std::to_string(request.value()->id) + ": arrival is " +
                               std::to_string(request.value()->arrival.value()) +
                               ", expected no time before the last event");
}

Status Simulation::receive(SimTime now) {
  next_arrival_.reset();
  Result<std::optional<Request>> request = source_.next();
  RECTO_RETURN_IF_ERROR(request.status());
  RECTO_CHECK(request.value().has_value());
  RECTO_CHECK_EQ(request.value()->arrival, now);
  if (const Status status = check_request(*request.value()); !status.is_ok()) {
    return status.in("request " + std::to_string(request.value()->id));
  }
  if (!first_arrival_) first_arrival_ = now;
  scheduler_->enqueue(*request.value(), now);
  RECTO_RETURN_IF_ERROR(schedule_arrival());
  if (!next_arrival_ && source_.exhausted() && metrics_.is_open()) metrics_.close(now);
  return Status::ok();
}

Status Simulation::check_request(const Request& request) const {
  const auto expect = [](const char* field, std::int64_t value, const char* what) {
    return Status::invalid_input(std::string(field) + " is " + std::to_string(value) +
                                 ", expected " + what);
  };
  const std::int64_t prompt = request.prompt_tokens.value();
  const std::int64_t output = request.output_tokens.value();
  if (prompt < 1) return expect("prompt_tokens", prompt, "at least 1");
  if (output < 1) return expect("output_tokens", output, "at least 1");
  if (request.width < 1) return expect("width", request.width, "at least 1");
  if (request.width == 1) return Status::ok();
  if (options_.batching == Batching::kStatic) {
    return expect("width", request.width, "1: static batches have a row per request");
  }
  if (options_.scheduler.window.value() != 0 && allocator_.is_paged()) {
    return expect("width", request.width, kNoSharedWindow);
  }
  return Status::ok();
}

Status Simulation::handle(const Event& event) {
  switch (event.kind) {
    case EventKind::kStepEnd:
    case EventKind::kTransferEnd:
      is_busy_ = false;
      scheduler_->complete(event.time);
      // An answer may let a closed-loop client continue.
      return std::exchange(was_answered_, false) ? schedule_arrival() : Status::ok();
    case EventKind::kArrival:
      return receive(event.time);
  }
  RECTO_UNREACHABLE("every kind of event is handled above");
}

void Simulation::start_next(SimTime now) {
  const StepPlan& plan = scheduler_->plan(now);
  switch (plan.kind) {
    case StepPlan::Kind::kIdle:
      return;
    case StepPlan::Kind::kStep: {
      const StepCost cost = time_model_.cost(plan.load);
      spend(cost);
      events_.schedule(now + cost.total(), EventKind::kStepEnd);
      is_busy_ = true;
      if (observer_ != nullptr) observer_->on_step(plan, cost, now);
      return;
    }
    case StepPlan::Kind::kSwapOut:
    case StepPlan::Kind::kSwapIn: {
      const SimDuration duration = transfer_time(plan.transfer);
      report_.time_spent.swap += duration;
      events_.schedule(now + duration, EventKind::kTransferEnd);
      is_busy_ = true;
      if (observer_ != nullptr) observer_->on_step(plan, StepCost(), now);
      return;
    }
  }
}

SimDuration Simulation::transfer_time(TokenCount slots) const {
  const double bytes =
      static_cast<double>(slots.value()) * static_cast<double>(options_.kv_bytes_per_token.value());
  const double ns = bytes / options_.host_bandwidth_bytes_per_s * 1e9;
  return SimDuration(static_cast<std::int64_t>(ns) + 1);
}

void Simulation::spend(const StepCost& cost) {
  TimeSpent& spent = report_.time_spent;
  spent.fixed += cost.fixed;
  spent.linear += cost.linear;
  spent.attention += cost.attention;
  spent.copy += cost.copy;
  spent.overlap += cost.overlap;
}

void Simulation::on_arrived(const SequenceGroup& group, SimTime now) {
  if (observer_ != nullptr) observer_->on_arrived(group, now);
}

void Simulation::on_rejected(const Request& request, SimTime now) {
  if (report_.rejected_ids.size() < kRejectedIdsMax) report_.rejected_ids.push_back(request.id);
  source_.finish(request.id, now);
  if (observer_ != nullptr) observer_->on_rejected(request, now);
}

void Simulation::on_admitted(const SequenceGroup& group, SimTime now) {
  if (!metrics_.is_open()) metrics_.open(now);
  if (observer_ != nullptr) observer_->on_admitted(group, now);
}

void Simulation::on_first_token(const SequenceGroup& group, SimTime now) {
  if (observer_ != nullptr) observer_->on_first_token(group, now);
}

void Simulation::on_preempted(const SequenceGroup& group, PreemptionKind kind, SimTime now) {
  if (observer_ != nullptr) observer_->on_preempted(group, kind, now);
}

void Simulation::on_finished(const SequenceGroup& group, SimTime now) {
  latencies_.add({.arrival = group.request.arrival,
                  .admitted = group.admitted,
                  .first_token = group.first_token,
                  .last_token = now,
                  .output_tokens = group.request.output_tokens});
  last_answer_ = now;
  was_answered_ = true;
  source_.finish(group.request.id, now);
  if (observer_ != nullptr) observer_->on_finished(group, now);
}

void Simulation::write_report() {
  report_.pool_slots = allocator_.counts().pool;
  report_.host_pool_slots = options_.scheduler.host_pool;
  report_.block_size = allocator_.block_size();
  report_.allocator = allocator_.describe();
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
}

}  // namespace

Result<Report> simulate(RequestSource& source, Allocator& allocator, const TimeModel& time_model,
                        const SimulationOptions& options, SimulationObserver* observer) {
  RECTO_RETURN_IF_ERROR(check_options(options, allocator));
  return Simulation(source, allocator, time_model, options, observer).run();
}

}  // namespace recto::sim

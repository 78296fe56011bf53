#pragma once

// The parts of the plain simulator (plain_simulator.h describes its purpose).

#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>
#include <vector>

#include "core/status.h"
#include "core/units.h"
#include "sim/allocators/paged_allocator.h"
#include "sim/metrics/latency.h"
#include "sim/metrics/report.h"
#include "sim/metrics/time_weighted.h"
#include "sim/request.h"
#include "sim/simulator.h"
#include "sim/time/time_model.h"

namespace recto::sim {

struct PlainSequence {
  Request request;
  std::vector<std::int64_t> blocks;
  std::int64_t context = 0;
  std::int64_t target = 0;  // context at which prefill ends
  std::int64_t chunk = 0;   // of the present step; 1 while decoding
  std::int64_t computed_once = 0;
  bool decoding = false;
  bool was_admitted = false;
  bool has_first_token = false;
  SimTime admitted;
  SimTime first_token;
};

class PlainSimulation {
 public:
  PlainSimulation(RequestSource& source, const PagedOptions& pool, const TimeModel& time_model,
                  const SimulationOptions& options)
      : source_(source),
        time_model_(time_model),
        options_(options),
        pool_(pool),
        metrics_(options.metrics),
        latencies_(options.limits) {
    total_blocks_ = pool.pool_slots.value() / block_size() - pool.null_blocks.value();
    for (std::int64_t id = 0; id < total_blocks_; ++id) free_.push_back(id);
  }

  Result<Report> run();

 private:
  std::int64_t block_size() const { return pool_.block_size.value(); }
  std::int64_t blocks_for(std::int64_t tokens) const {
    return (tokens + block_size() - 1) / block_size();
  }
  std::int64_t watermark_blocks() const { return blocks_for(options_.scheduler.watermark.value()); }
  std::int64_t free_blocks() const { return static_cast<std::int64_t>(free_.size()); }

  void arrive(const Request& request);
  void plan();
  void serve_running();
  void admit_waiting();
  bool give_slots(PlainSequence& sequence, std::int64_t length);
  void preempt_last();
  std::int64_t chunk_for(std::int64_t missing) const;
  void charge_prefill(PlainSequence& sequence, std::int64_t chunk);
  void complete();
  void release(PlainSequence& sequence);
  bool head_fits() const;
  GaugeValues gauges() const;
  Report report();

  RequestSource& source_;
  const TimeModel& time_model_;
  const SimulationOptions& options_;
  PagedOptions pool_;
  std::int64_t total_blocks_ = 0;
  std::deque<std::int64_t> free_;
  std::unordered_map<std::int64_t, PlainSequence> sequences_;
  std::deque<std::int64_t> waiting_;
  std::vector<std::int64_t> running_;  // by request id
  TimeWeighted metrics_;
  RequestLatencies latencies_;
  Report report_;

  SimTime now_;
  std::optional<SimTime> step_end_;
  std::optional<SimTime> first_arrival_;
  SimTime last_answer_;
  StepLoad load_;
  std::int64_t budget_ = 0;
  bool prefill_planned_ = false;
  bool preempted_ = false;
};

}  // namespace recto::sim

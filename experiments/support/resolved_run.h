#pragma once

// Converts a RunConfig to a run: looks up names, computes sizes, refuses contradictions.

#include <memory>
#include <optional>
#include <string>

#include "core/gpu_table.h"
#include "core/kv_sizing.h"
#include "core/model_table.h"
#include "core/status.h"
#include "core/units.h"
#include "experiments/support/run_config.h"
#include "sim/allocators/allocator.h"
#include "sim/simulator.h"
#include "sim/time/measured_time_model.h"
#include "sim/time/time_model.h"
#include "sim/workloads/workload_specs.h"

namespace recto::experiments {

struct ResolvedRun {
  RunConfig config;
  ModelSpec model;
  GpuSpec gpu;
  KvShape shape;  // block size 1 for contiguous allocators
  TokenCount pool_slots;
  std::optional<PoolSize> gpu_pool;  // the sizing, if the card determined it
  sim::DecodingSpec decoding;
  sim::SimulationOptions options;
};

// Invalid input, naming the flag at fault, unless everything except the trace's rows is usable: a
// ResolvedRun breaks no contract of the simulator.
Result<ResolvedRun> resolve(const RunConfig& config);

// The same check, for its status alone.
Status validate(const RunConfig& config);

// The source of step times, in few words for tables and files; the time model has more details.
struct TimeModelFacts {
  std::string name;          // as for --time-model
  std::string provenance;    // "cited, not measured on this card", or what it was fitted on
  bool knows_blocks = true;  // false if the block size affects no step's time
  std::optional<std::string> measured_on = {};  // the card, as its driver names it
};
Result<TimeModelFacts> time_model_facts(const RunConfig& config);

// Fails if there is no memory for the production manager.
Result<std::unique_ptr<sim::Allocator>> make_allocator(const ResolvedRun& run);
Result<std::unique_ptr<sim::TimeModel>> make_time_model(const ResolvedRun& run);

// Attention of a decode step that reads a whole pool; nullopt unless the time model was measured.
Result<std::optional<sim::MeasuredDecode>> full_pool_decode(const ResolvedRun& run);

}  // namespace recto::experiments

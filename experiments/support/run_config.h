#pragma once

// One simulated configuration as a user says it: what flags, manifests, sweep files and saved
// results hold. support/run_fields.h lists the fields by name; support/resolved_run.h works out
// what they mean.

#include <cstdint>
#include <optional>
#include <string>

#include "core/json.h"
#include "core/status.h"

namespace recto::experiments {

// Empty texts and absent numbers stand for what the help says about their flag. Names of kinds
// are checked against run_fields() whenever they are set.
struct RunConfig {
  // Workload: a trace, or a named workload whose parts may be replaced.
  std::string trace;
  std::string workload;
  std::string arrivals;
  std::string prompts;
  std::string follow_ups;
  std::string outputs;
  std::string sharing;
  std::optional<std::int64_t> requests;
  std::optional<std::int64_t> max_context;
  double scale_rate = 1;
  std::optional<std::int64_t> limit;
  std::string on_bad_row = "fail";
  std::string decoding = "single";
  double beam_switch_probability = 0;
  std::int64_t seed = 1;

  // Memory.
  std::string allocator = "paged";
  std::string manager = "simulator";
  std::string placement = "buddy";
  std::int64_t block_size = 16;
  std::int64_t null_blocks = 0;
  std::string model = "OPT-13B";
  std::string model_file;
  std::string gpu = "A100-40";
  std::int64_t tp = 1;
  std::int64_t kv_element_bytes = 2;
  double utilization = 0.9;
  std::optional<double> pool_gib;
  std::optional<std::int64_t> pool_slots;
  std::optional<std::int64_t> pool_blocks;

  // Scheduler.
  std::string batching = "continuous";
  std::int64_t max_sequences = 256;
  std::int64_t max_batched_tokens = 2048;
  std::optional<std::int64_t> max_length;
  std::string prefill = "chunked";
  std::string admission = "whole-prompt";
  double watermark = 0;
  std::string preemption = "recompute";
  double host_gib = 0;
  std::optional<double> host_bandwidth;
  std::optional<std::int64_t> window;

  // Time.
  std::string time_model = "roofline";
  std::string attention_curve = "flashinfer";
  std::string host_work = "overlapped";
  std::string graph_sizes = "none";
  std::optional<double> stream_interference;

  // Metrics.
  double series_window_s = 1;
  std::optional<double> ttft_limit_ms;
  std::optional<double> tpot_limit_ms;

  friend bool operator==(const RunConfig&, const RunConfig&) = default;
};

// Every field by its name; null where it is empty or absent.
Json to_json(const RunConfig& config);

// The reverse. Fields may be missing and then are as in RunConfig(). Invalid input for an unknown
// or wrongly typed field; `resolve` checks whether fields go together.
Result<RunConfig> run_config_from_json(const Json& json);

}  // namespace recto::experiments

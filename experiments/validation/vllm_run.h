#pragma once

// A real engine's measured run, replayed: vLLM 0.19 serving 300 ShareGPT requests with
// Llama-3.1-8B on one RTX 4090 (LLMServingSim's benchmark data: the workload, per-request times
// and a line of metrics per second).

#include <cstdint>
#include <string>
#include <vector>

#include "core/status.h"
#include "experiments/validation/published_figure.h"
#include "sim/metrics/report.h"
#include "sim/request.h"
#include "sim/time/linear_time_model.h"
#include "sim/time/roofline_time_model.h"
#include "sim/time/time_model.h"

namespace recto::experiments {

struct VllmSecond {
  double running = 0;
  double waiting = 0;
  double kv_percent = 0;  // held blocks, in percent of usable blocks
};

struct VllmRun {
  std::vector<sim::Request> requests;
  std::vector<VllmSecond> seconds;
  double ttft_s_mean = 0;
  double tpot_ms_mean = 0;
  double latency_s_mean = 0;
};

// Reads sharegpt-llama31-8b-300.jsonl and vllm-0.19-rtx4090-llama31-8b/ from `folder`.
Result<VllmRun> load_vllm_run(const std::string& folder);

// The engine's settings: 2588 blocks of 16 tokens, one of them null, prefix caching, chunks of a
// 2048-token budget, at most 256 sequences, whole prompts admitted.
sim::Report replay(const VllmRun& run, const sim::TimeModel& time_model);

// recto's metrics in the engine's terms, a value per second; held blocks in percent.
std::vector<VllmSecond> seconds_of(const sim::Report& report, std::size_t count);

// Tolerances of a time model that was fitted to this run, and of one that was not.
enum class ModelKind : std::uint8_t { kFitted, kRoofline };
std::vector<PublishedFigure> compare_vllm(const VllmRun& run, const sim::Report& report,
                                          ModelKind kind);

// Four coefficients fitted to that run, as //experiments/validation:fit_vllm prints them.
sim::LinearTimeModel fitted_model();

// Llama-3.1-8B on an RTX 4090 by specification, with the constants for all cards.
sim::RooflineTimeModel roofline_model();

}  // namespace recto::experiments

#include "experiments/validation/vllm_run.h"

#include <array>
#include <charconv>
#include <cmath>
#include <fstream>
#include <string_view>
#include <utility>

#include "core/gpu_table.h"
#include "core/json.h"
#include "core/model_table.h"
#include "sim/allocators/prefix_cached_allocator.h"
#include "sim/request_list.h"
#include "sim/simulator.h"
#include "sim/traces/trace_reader.h"

namespace recto::experiments {
namespace {

constexpr TokenCount kBlockSize{16};
constexpr BlockCount kBlocks{2588};
constexpr BlockCount kNullBlocks{1};

Status load_requests(const std::string& path, VllmRun& run) {
  auto trace = sim::open_trace(path, {});
  RECTO_RETURN_IF_ERROR(trace.status());
  while (true) {
    Result<std::optional<sim::Request>> next = trace.value()->next();
    RECTO_RETURN_IF_ERROR(next.status());
    if (!next.value()) return Status::ok();
    run.requests.push_back(*std::move(next).value());
  }
}

// t,prompt_throughput,gen_throughput,running,waiting,kv_cache_pct
Status load_seconds(const std::string& path, VllmRun& run) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) return Status::invalid_input(path + ": cannot be read");
  for (int number = 2; std::getline(file, line); ++number) {
    std::array<double, 6> fields{};
    const char* at = line.data();
    const char* end = line.data() + line.size();
    for (double& field : fields) {
      const auto [next, error] = std::from_chars(at, end, field);
      if (error != std::errc()) {
        return Status::invalid_input(path + ":" + std::to_string(number) +
                                     ": expected six numbers, got \"" + line + "\"");
      }
      at = next == end ? end : next + 1;
    }
    run.seconds.push_back({fields[3], fields[4], fields[5]});
  }
  return Status::ok();
}

Status load_latencies(const std::string& path, VllmRun& run) {
  std::ifstream file(path);
  std::string line;
  double count = 0;
  while (std::getline(file, line)) {
    const Result<Json> row = parse_json(line);
    std::vector<double> numbers;
    for (const char* field : {"queued_ts", "first_token_ts", "last_token_ts", "output_toks"}) {
      const Json* const found = row.is_ok() ? row.value().find(field) : nullptr;
      if (found == nullptr || !found->is_number()) {
        return Status::invalid_input(path + ": expected a request per line, got \"" + line + "\"");
      }
      numbers.push_back(found->get<double>());
    }
    const double queued = numbers[0];
    const double first = numbers[1];
    const double last = numbers[2];
    const double outputs = numbers[3];
    run.ttft_s_mean += first - queued;
    run.tpot_ms_mean += 1000 * (last - first) / (outputs - 1);
    run.latency_s_mean += last - queued;
    ++count;
  }
  if (count == 0) return Status::invalid_input(path + ": cannot be read, or is empty");
  run.ttft_s_mean /= count;
  run.tpot_ms_mean /= count;
  run.latency_s_mean /= count;
  return Status::ok();
}

double relative_mean(const std::vector<VllmSecond>& seconds, double VllmSecond::*field) {
  double sum = 0;
  for (const VllmSecond& second : seconds) sum += second.*field;
  return sum / static_cast<double>(seconds.size());
}

}  // namespace

Result<VllmRun> load_vllm_run(const std::string& folder) {
  VllmRun run;
  const std::string measured = folder + "/vllm-0.19-rtx4090-llama31-8b/";
  RECTO_RETURN_IF_ERROR(load_requests(folder + "/sharegpt-llama31-8b-300.jsonl", run));
  RECTO_RETURN_IF_ERROR(load_seconds(measured + "timeseries.csv", run));
  RECTO_RETURN_IF_ERROR(load_latencies(measured + "requests.jsonl", run));
  return run;
}

sim::Report replay(const VllmRun& run, const sim::TimeModel& time_model) {
  sim::RequestList source(run.requests);
  sim::PrefixCachedAllocator allocator({.pool_slots = kBlocks.value() * kBlockSize,
                                        .block_size = kBlockSize,
                                        .null_blocks = kNullBlocks});
  sim::SimulationOptions options;
  options.scheduler.max_sequences = 256;
  options.scheduler.max_batched_tokens = TokenCount(2048);
  options.scheduler.max_length = TokenCount(32'768);
  return sim::simulate(source, allocator, time_model, options).value();
}

std::vector<VllmSecond> seconds_of(const sim::Report& report, std::size_t count) {
  const auto slots = static_cast<double>(((kBlocks - kNullBlocks).value() * kBlockSize).value());
  const auto mean = [](const sim::SeriesWindow& window, sim::Gauge gauge) {
    return window.mean[static_cast<std::size_t>(gauge)];
  };
  std::vector<VllmSecond> seconds(count);
  for (std::size_t i = 0; i < std::min(count, report.series.size()); ++i) {
    const sim::SeriesWindow& window = report.series[i];
    const double held = mean(window, sim::Gauge::kUsed) + mean(window, sim::Gauge::kReserved) +
                        mean(window, sim::Gauge::kTail);
    seconds[i] = {.running = mean(window, sim::Gauge::kRunningRequests),
                  .waiting = mean(window, sim::Gauge::kWaitingRequests),
                  .kv_percent = 100 * held / slots};
  }
  return seconds;
}

std::vector<PublishedFigure> compare_vllm(const VllmRun& run, const sim::Report& report,
                                          ModelKind kind) {
  const bool fitted = kind == ModelKind::kFitted;
  const double latency = fitted ? 0.02 : 0.20;
  std::vector<PublishedFigure> rows{
      {"TTFT, mean (s)", run.ttft_s_mean, report.ttft.mean_ns / 1e9, Tolerance::kRelative, latency},
      {"TPOT, mean (ms)", run.tpot_ms_mean, report.tpot.mean_ns / 1e6, Tolerance::kRelative,
       latency},
      {"latency, mean (s)", run.latency_s_mean, report.end_to_end.mean_ns / 1e9,
       Tolerance::kRelative, latency}};
  const std::vector<VllmSecond> ours = seconds_of(report, run.seconds.size());
  double off = 0;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    off += std::abs(ours[i].kv_percent - run.seconds[i].kv_percent);
  }
  off /= static_cast<double>(ours.size());
  const auto append = [&](const char* name, double VllmSecond::*field) {
    rows.push_back({name, relative_mean(run.seconds, field), relative_mean(ours, field),
                    Tolerance::kRelative, fitted ? 0.03 : 0.20});
  };
  append("running, mean over seconds", &VllmSecond::running);
  append("waiting, mean over seconds", &VllmSecond::waiting);
  // The roofline's own timing errors shift the curve, so it gets a wider tolerance.
  rows.push_back({"KV usage, mean distance per second (points)", 0, off, Tolerance::kPoints,
                  fitted ? 2.5 : 5.0});
  return rows;
}

sim::LinearTimeModel fitted_model() {
  return sim::LinearTimeModel({.fixed_ns = 16'280'440.8,
                               .per_prefill_token_ns = 85'854.66,
                               .per_kv_token_ns = 212.3224,
                               .per_sequence_ns = 11'537.64,
                               .source = "fitted to the vLLM 0.19 run on an RTX 4090"});
}

sim::RooflineTimeModel roofline_model() {
  sim::RooflineSetup setup;
  setup.model = find_model("Llama-3.1-8B").value();
  setup.gpu = find_gpu("RTX 4090").value();
  setup.shape.block_size = TokenCount(16);
  return sim::RooflineTimeModel::make(setup).value();
}

}  // namespace recto::experiments

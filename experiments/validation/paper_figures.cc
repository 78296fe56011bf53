#include "experiments/validation/paper_figures.h"

#include <cmath>
#include <functional>
#include <memory>
#include <utility>

#include "core/contract.h"
#include "sim/allocators/contiguous_allocator.h"
#include "sim/allocators/paged_allocator.h"
#include "sim/simulator.h"
#include "sim/workloads/builtin_workloads.h"

namespace recto::experiments {
namespace {

using sim::Gauge;
using sim::Report;

// 12 GiB over the 819,200 bytes that a token of OPT-13B takes.
constexpr TokenCount kPoolSlots{15'728};
constexpr ByteCount kTokenBytes{819'200};

std::unique_ptr<sim::Allocator> make_allocator(PaperAllocator allocator) {
  const auto contiguous = [](sim::ReservationRule rule) {
    return std::make_unique<sim::ContiguousAllocator>(
        sim::ContiguousOptions{.pool_slots = kPoolSlots, .rule = rule});
  };
  switch (allocator) {
    case PaperAllocator::kMax:
      return contiguous(sim::ReservationRule::kMax);
    case PaperAllocator::kPow2:
      return contiguous(sim::ReservationRule::kPow2);
    case PaperAllocator::kOracle:
      return contiguous(sim::ReservationRule::kOracle);
    case PaperAllocator::kPaged:
      return std::make_unique<sim::PagedAllocator>(sim::PagedOptions{.pool_slots = kPoolSlots});
  }
  RECTO_UNREACHABLE("every allocator is named above");
}

double share_of_pool(const Report& report, double slots) {
  return 100 * slots / static_cast<double>(report.pool_slots.value());
}

struct MemoryStates {
  double used = 0;
  double reserved = 0;
  double internal = 0;
  double external = 0;
};

MemoryStates paper_view(PaperAllocator allocator) {
  MemoryStates sum;
  PaperRun run{.allocator = allocator};
  for (run.seed = 1; run.seed <= kPaperSeeds; ++run.seed) {
    const Report report = run_paper(run);
    const double used = report.gauge(Gauge::kUsed).mean;
    const double reserved = report.gauge(Gauge::kReserved).mean;
    const double internal =
        report.gauge(Gauge::kOverReservation).mean + report.gauge(Gauge::kTail).mean;
    const auto pool = static_cast<double>(report.pool_slots.value());
    const auto seeds = static_cast<double>(kPaperSeeds);
    sum.used += share_of_pool(report, used) / seeds;
    sum.reserved += share_of_pool(report, reserved) / seeds;
    sum.internal += share_of_pool(report, internal) / seeds;
    sum.external += share_of_pool(report, pool - used - reserved - internal) / seeds;
  }
  return sum;
}

void append_states(std::vector<PublishedFigure>& rows, const std::string& name,
                   PaperAllocator allocator, const MemoryStates& paper) {
  constexpr double kPoints = 2.5;
  const MemoryStates ours = paper_view(allocator);
  const auto append = [&](const char* state, double expected, double measured) {
    rows.push_back(
        {name + ", " + state + " (% of pool)", expected, measured, Tolerance::kPoints, kPoints});
  };
  append("token states", paper.used, ours.used);
  append("reservation", paper.reserved, ours.reserved);
  append("internal", paper.internal, ours.internal);
  append("external and others", paper.external, ours.external);
}

using sim::Gauge;
using sim::Report;

// Where an increasing or decreasing function of a positive number reaches `target`, to one part in
// 10^4.
double solve(double low, double high, double target, const std::function<double(double)>& value) {
  const bool grows = value(high) > value(low);
  while (high / low > 1.0001) {
    const double middle = std::sqrt(low * high);
    ((value(middle) < target) == grows ? low : high) = middle;
  }
  return std::sqrt(low * high);
}

sim::LinearCoefficients constant_step(double ms) {
  return {.fixed_ns = ms * 1e6, .source = "constant"};
}

}  // namespace

double mean_over_seeds(PaperRun run, const std::function<double(const Report&)>& figure) {
  double sum = 0;
  for (run.seed = 1; run.seed <= kPaperSeeds; ++run.seed) sum += figure(run_paper(run));
  return sum / static_cast<double>(kPaperSeeds);
}

double running_sequences(const Report& report) {
  return report.gauge(Gauge::kRunningSequences).mean;
}

double sharing_saving(const Report& report) {
  return 100 *
         (1 - report.gauge(Gauge::kHeldBlocks).mean / report.gauge(Gauge::kTableEntries).mean);
}

sim::LinearCoefficients paper_step_time() {
  return {.fixed_ns = 20e6,
          .per_prefill_token_ns = 170e3,
          .per_kv_token_ns = 900,
          .per_sequence_ns = 280e3,
          .source = "OPT-13B on an A100-40GB in an engine of 2023: see paper_figures.h"};
}

Report run_paper(const PaperRun& run) {
  sim::SyntheticOptions workload = sim::builtin_workload(run.workload).value();
  workload.seed = run.seed;
  workload.decoding = sim::parse_decoding(run.decoding).value();
  if (!run.arrivals.empty()) workload.arrivals = sim::parse_arrivals(run.arrivals).value();
  if (run.requests > 0) workload.request_count = run.requests;
  const auto source = sim::SyntheticWorkload::create(std::move(workload)).value();
  const auto allocator = make_allocator(run.allocator);
  sim::SimulationOptions options;
  options.kv_bytes_per_token = kTokenBytes;
  options.scheduler.max_sequences = 2048;  // memory is the limit
  options.scheduler.max_batched_tokens = TokenCount(4096);
  options.scheduler.max_length = TokenCount(2048);
  options.scheduler.host_pool = kPoolSlots;
  options.scheduler.beam_switch_probability = run.beam_switch_probability;
  options.scheduler.seed = run.seed;
  const sim::LinearTimeModel time_model(run.step_time.value_or(paper_step_time()));
  return sim::simulate(*source, *allocator, time_model, options).value();
}

std::vector<PublishedFigure> compare_memory_states() {
  std::vector<PublishedFigure> rows;
  append_states(rows, "Orca (Max)", PaperAllocator::kMax, {20.4, 13.3, 57.3, 8.9});
  append_states(rows, "Orca (Pow2)", PaperAllocator::kPow2, {26.8, 17.9, 13.6, 41.6});
  append_states(rows, "Orca (Oracle)", PaperAllocator::kOracle, {38.2, 25.2, 0, 36.6});
  const double used_of_held = mean_over_seeds({}, [](const Report& report) {
    return 100 * report.gauge(Gauge::kUsed).mean / (report.gauge(Gauge::kHeldBlocks).mean * 16);
  });
  rows.push_back({"paged, block 16: used (% of held)", 96, used_of_held, Tolerance::kAtLeast, 0});
  return rows;
}

std::vector<PublishedFigure> compare_batch_sizes() {
  std::vector<PublishedFigure> rows;
  const auto append = [&rows](const char* name, PaperRun run, double expected) {
    rows.push_back({std::string(name) + " (sequences)", expected,
                    mean_over_seeds(std::move(run), running_sequences), Tolerance::kRelative,
                    0.05});
  };
  append("ShareGPT, Orca (Max)", {.allocator = PaperAllocator::kMax}, 7.00);
  append("ShareGPT, Orca (Pow2)", {.allocator = PaperAllocator::kPow2}, 9.81);
  append("ShareGPT, Orca (Oracle)", {.allocator = PaperAllocator::kOracle}, 13.62);
  const std::string alpaca = "alpaca-like";
  append("Alpaca, Orca (Max)", {.workload = alpaca, .allocator = PaperAllocator::kMax}, 7.00);
  append("Alpaca, Orca (Pow2)", {.workload = alpaca, .allocator = PaperAllocator::kPow2}, 43.24);
  append("Alpaca, Orca (Oracle)", {.workload = alpaca, .allocator = PaperAllocator::kOracle},
         72.75);
  return rows;
}

std::vector<PublishedFigure> compare_paged_batch() {
  return {{"ShareGPT, paged (sequences)", 30.42, mean_over_seeds({}, running_sequences),
           Tolerance::kRelative, 0.15},
          {"Alpaca, paged (sequences)", 132.44,
           mean_over_seeds({.workload = "alpaca-like"}, running_sequences), Tolerance::kRelative,
           0.15}};
}

// Sharing does not depend on the load as long as nothing is preempted, so the load is low.
std::vector<PublishedFigure> compare_parallel_sharing() {
  std::vector<PublishedFigure> rows;
  const auto append = [&rows](const char* name, const char* workload, const char* decoding,
                              double expected) {
    const bool alpaca = std::string(workload) == "alpaca-like";
    const PaperRun run{.workload = workload,
                       .decoding = decoding,
                       .arrivals = alpaca ? "poisson:4" : "poisson:0.2",
                       .requests = alpaca ? 9000 : 3000};
    rows.push_back({std::string(name) + " (% of blocks saved)", expected,
                    mean_over_seeds(run, sharing_saving), Tolerance::kRelative, 0.10});
  };
  append("Alpaca, 2 samples", "alpaca-like", "parallel:2", 6.09);
  append("Alpaca, 4 samples", "alpaca-like", "parallel:4", 8.53);
  append("Alpaca, 6 samples", "alpaca-like", "parallel:6", 9.79);
  append("ShareGPT, 2 samples", "sharegpt-like", "parallel:2", 16.2);
  append("ShareGPT, 6 samples", "sharegpt-like", "parallel:6", 30.5);
  return rows;
}

PaperRun beam_run(const std::string& workload, int width, double beam_switch_probability) {
  const bool alpaca = workload == "alpaca-like";
  return {.workload = workload,
          .decoding = "beam:" + std::to_string(width),
          .arrivals = alpaca ? "poisson:4" : "poisson:0.2",
          .beam_switch_probability = beam_switch_probability,
          .requests = alpaca ? 9000 : 3000};
}

std::vector<PublishedFigure> compare_beam_sharing() {
  std::vector<PublishedFigure> rows;
  const auto append = [&rows](const char* name, const PaperRun& run, double expected) {
    rows.push_back({std::string(name) + " (% of blocks saved)", expected,
                    mean_over_seeds(run, sharing_saving), Tolerance::kRelative, 0.10});
  };
  const auto alpaca = [](int width) { return beam_run("alpaca-like", width, kAlpacaBeamSwitches); };
  append("Alpaca, width 2 (fitted)", alpaca(2), 37.56);
  append("Alpaca, width 4", alpaca(4), 53.13);
  append("Alpaca, width 6", alpaca(6), 55.16);
  const auto sharegpt = [](int width) {
    return beam_run("sharegpt-like", width, kShareGptBeamSwitches);
  };
  append("ShareGPT, width 2 (fitted)", sharegpt(2), 44.3);
  append("ShareGPT, width 6", sharegpt(6), 66.3);
  return rows;
}

double constant_step_ms(const std::string& workload, double batch) {
  return solve(20, 200, batch, [&](double ms) {
    return mean_over_seeds({.workload = workload, .step_time = constant_step(ms)},
                           running_sequences);
  });
}

double beam_switch_probability(const std::string& workload, double saving_percent) {
  return solve(0.001, 0.5, saving_percent, [&](double probability) {
    return mean_over_seeds(beam_run(workload, 2, probability), sharing_saving);
  });
}

StepTimeParts mean_step_time(const std::string& workload) {
  const double per_sequence_ns = paper_step_time().per_sequence_ns;
  StepTimeParts parts;
  parts.total_ms = mean_over_seeds({.workload = workload}, [](const Report& report) {
    return seconds(report.time_spent.total()) * 1e3 / static_cast<double>(report.counters.steps);
  });
  const double host_ms = mean_over_seeds({.workload = workload}, [&](const Report& report) {
    return per_sequence_ns / 1e6 * static_cast<double>(report.counters.decode_tokens) /
           static_cast<double>(report.counters.steps);
  });
  parts.card_ms = parts.total_ms - host_ms;
  return parts;
}

}  // namespace recto::experiments

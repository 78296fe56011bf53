#pragma once

// Runs one configuration, under one seed or several, and derives figures from its report.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"
#include "experiments/support/resolved_run.h"
#include "experiments/support/run_config.h"
#include "sim/metrics/gauges.h"
#include "sim/metrics/report.h"
#include "sim/simulator.h"

namespace recto::experiments {

// The states of a pool as shares of it; they sum to 1.
struct PoolShares {
  double used = 0;
  double reserved = 0;
  double over_reservation = 0;
  double rounding = 0;
  double tail = 0;
  double out_of_window = 0;
  double cached = 0;
  double free = 0;
  double overhead = 0;

  double internal() const { return over_reservation + rounding + tail + out_of_window; }
  double held() const { return used + reserved + internal(); }
};

struct PoolState {
  std::string_view name;  // as in JSON and CSV columns
  double PoolShares::*share;
  sim::Gauge gauge;
};
inline constexpr PoolState kPoolStates[] = {
    {"used", &PoolShares::used, sim::Gauge::kUsed},
    {"reserved", &PoolShares::reserved, sim::Gauge::kReserved},
    {"over_reservation", &PoolShares::over_reservation, sim::Gauge::kOverReservation},
    {"rounding", &PoolShares::rounding, sim::Gauge::kRounding},
    {"tail", &PoolShares::tail, sim::Gauge::kTail},
    {"out_of_window", &PoolShares::out_of_window, sim::Gauge::kOutOfWindow},
    {"cached", &PoolShares::cached, sim::Gauge::kCached},
    {"free", &PoolShares::free, sim::Gauge::kFree},
    {"overhead", &PoolShares::overhead, sim::Gauge::kOverhead}};

// The shares of all states by name; "internal" precedes the parts whose sum it is.
std::vector<std::pair<std::string, double>> named_shares(const PoolShares& shares);

// The same slots, named as in Fig. 2 of the PagedAttention paper (arXiv 2309.06180). There,
// rounding by the placement policy counts as external.
struct PaperShares {
  double token_states = 0;
  double reservation = 0;
  double internal_fragmentation = 0;
  double external_and_others = 0;
};

PaperShares paper_shares(const PoolShares& shares);

struct Figures {
  PoolShares shares;  // time-weighted means

  double used_of_held = 0;    // share of the held slots
  double sharing_saving = 0;  // 1 - held blocks / block-table entries, of their time integrals
  double copied_bytes = 0;    // copy-on-write, on all cards
  double table_bytes_mean = 0;
  double table_bytes_max = 0;

  double requests_per_s = 0;       // finished ones, over the makespan
  double output_tokens_per_s = 0;  // likewise
  double goodput_per_s = 0;        // requests that met both limits

  double prefix_hit_share = 0;  // of the context wanted at admissions
  double first_hit_share = 0;   // of the prompts, when first admitted
  double prefix_flops_saved = 0;

  // Whether the 99th percentile meets the limit; absent without a limit.
  std::optional<bool> p99_meets_ttft;
  std::optional<bool> p99_meets_tpot;
};

struct RunOutcome {
  RunConfig config;
  sim::Report report;
  Figures figures;
  TimeModelFacts time_model;
  std::int64_t window_tokens = 0;     // the sliding window in effect; 0: none
  std::int64_t skipped_rows = 0;      // bad, left out under --on-bad-row skip
  std::int64_t failed_requests = 0;   // recorded in the trace without an answer, left out
  std::vector<std::string> warnings;  // of the trace, a sentence each
};

// Deterministic, byte for byte. Invalid input for configurations that `validate` refuses and for
// bad rows of a trace. May be called from several threads at once; `observer` may be null.
Result<RunOutcome> run(const RunConfig& config, sim::SimulationObserver* observer = nullptr);

// A gauge's mean as a share of the pool.
double mean_share(const sim::Report& report, sim::Gauge gauge);

struct MeanInterval {
  double mean = 0;
  double half_width = 0;  // of the 95 % confidence interval; 0 for a single value
};

// For approximately normal values; `values` is not empty.
MeanInterval mean_with_interval(std::span<const double> values);

// The 97.5th percentile of Student's t with `degrees_of_freedom`, at least 1; accurate to within
// 1e-3.
double student_t(int degrees_of_freedom);

struct SeedOptions {
  int seeds = 1;  // starting with the configuration's seed
  int threads = 1;
};

// One run per seed, in their order. Invalid input if the seeds would overflow.
Result<std::vector<RunOutcome>> run_seeds(const RunConfig& config, const SeedOptions& options);

// Invalid input if `seeds` seeds, starting with the configuration's, would overflow.
Status check_seed_room(const RunConfig& config, int seeds);

struct NamedInterval {
  std::string name;
  MeanInterval interval;
  std::vector<double> by_seed;  // the values of the mean
};

// Every number of figures and report that all runs have, except series and lists, by its name in
// flatten(). A latency is NaN if no request of some run has it. `runs` is not empty.
std::vector<NamedInterval> intervals_of(const std::vector<RunOutcome>& runs);

// The interval of that name, which must exist.
const MeanInterval& find_interval(const std::vector<NamedInterval>& intervals,
                                  std::string_view name);

}  // namespace recto::experiments

#include "experiments/support/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "core/contract.h"
#include "core/model_table.h"
#include "core/units.h"
#include "experiments/support/numbers.h"
#include "experiments/support/parallel.h"
#include "experiments/support/report_json.h"
#include "experiments/support/request_source.h"
#include "experiments/support/resolved_run.h"

namespace recto::experiments {
namespace {

constexpr double kTableEntryBytes = 4;  // block ids are 32-bit

double ratio(double part, double whole) { return whole > 0 ? part / whole : 0; }

PoolShares make_shares(const sim::Report& report) {
  PoolShares shares;
  for (const PoolState& state : kPoolStates) shares.*state.share = mean_share(report, state.gauge);
  return shares;
}

// Per token, each matrix element of every layer takes one multiply-add; embeddings and positions
// are looked up, and the output head sees only a prompt's last token, which is never a hit. Per
// (query, key) pair and head there are two products of head_dim multiply-adds.
double flops_saved(const sim::Counters& counters, const ModelSpec& model) {
  const double per_token = 2.0 * static_cast<double>(model.num_layers) *
                           static_cast<double>(layer_matmul_parameters(model));
  const double per_pair = 4.0 * static_cast<double>(model.num_layers) *
                          static_cast<double>(model.num_q_heads) *
                          static_cast<double>(model.head_dim);
  return per_token * static_cast<double>(counters.prefix_hit_tokens) +
         per_pair * static_cast<double>(counters.prefix_hit_pairs);
}

std::optional<bool> meets(const sim::LatencySummary& latency,
                          const std::optional<SimDuration>& limit) {
  if (!limit || latency.count == 0) return std::nullopt;
  return latency.p99_ns <= limit->value();
}

using Columns = std::vector<std::pair<std::string, std::string>>;

// Whether the "count" beside a latency is 0: then the number is no latency.
bool is_of_no_request(const std::string& name, const Columns& run) {
  if (!name.ends_with("_ns")) return false;
  const std::string count = name.substr(0, name.rfind('.') + 1) + "count";
  const auto found = std::ranges::find(run, count, &Columns::value_type::first);
  return found != run.end() && found->second == "0";
}

Figures make_figures(const sim::Report& report, const ResolvedRun& run) {
  const sim::Counters& counters = report.counters;
  const double entries = report.gauge(sim::Gauge::kTableEntries).mean;
  const double blocks = report.gauge(sim::Gauge::kHeldBlocks).mean;
  const double makespan_s = seconds(report.makespan);
  Figures figures;
  figures.shares = make_shares(report);
  figures.used_of_held = ratio(figures.shares.used, figures.shares.held());
  figures.sharing_saving = entries > 0 ? 1 - blocks / entries : 0;
  figures.copied_bytes =
      static_cast<double>(counters.copied_slots) *
      static_cast<double>(run.options.kv_bytes_per_token.value() * run.config.tp);
  figures.table_bytes_mean = kTableEntryBytes * entries;
  figures.table_bytes_max =
      kTableEntryBytes * static_cast<double>(report.gauge(sim::Gauge::kTableEntries).max);
  figures.requests_per_s = ratio(static_cast<double>(counters.requests_finished), makespan_s);
  figures.output_tokens_per_s = ratio(static_cast<double>(counters.output_tokens), makespan_s);
  figures.goodput_per_s = ratio(static_cast<double>(counters.requests_within_limits), makespan_s);
  figures.prefix_hit_share = ratio(static_cast<double>(counters.prefix_hit_tokens),
                                   static_cast<double>(counters.prefix_query_tokens));
  // A preempted request that hits its own tokens again shares them with no other request.
  figures.first_hit_share =
      ratio(static_cast<double>(counters.prefix_hit_tokens - counters.readmitted_hit_tokens),
            static_cast<double>(counters.prefix_query_tokens - counters.readmitted_query_tokens));
  figures.prefix_flops_saved = flops_saved(counters, run.model);
  figures.p99_meets_ttft = meets(report.ttft, run.options.limits.ttft);
  figures.p99_meets_tpot = meets(report.tpot, run.options.limits.tpot);
  return figures;
}

}  // namespace

Result<RunOutcome> run(const RunConfig& config, sim::SimulationObserver* observer) {
  const Result<ResolvedRun> resolved = resolve(config);
  RECTO_RETURN_IF_ERROR(resolved.status());
  const Result<std::unique_ptr<sim::TimeModel>> time_model = make_time_model(resolved.value());
  RECTO_RETURN_IF_ERROR(time_model.status());
  const Result<TimeModelFacts> facts = time_model_facts(config);
  RECTO_RETURN_IF_ERROR(facts.status());
  Result<OpenedSource> source = open_source(config);
  RECTO_RETURN_IF_ERROR(source.status());
  const Result<std::unique_ptr<sim::Allocator>> allocator = make_allocator(resolved.value());
  RECTO_RETURN_IF_ERROR(allocator.status());
  Result<sim::Report> report =
      sim::simulate(*source.value().requests, *allocator.value(), *time_model.value(),
                    resolved.value().options, observer);
  RECTO_RETURN_IF_ERROR(report.status());
  RunOutcome outcome;
  outcome.config = config;
  outcome.report = std::move(report).value();
  outcome.figures = make_figures(outcome.report, resolved.value());
  outcome.time_model = facts.value();
  outcome.window_tokens = resolved.value().options.scheduler.window.value();
  if (const sim::TraceReader* trace = source.value().trace; trace != nullptr) {
    const sim::TraceCounters counters = trace->counters();
    outcome.skipped_rows = counters.skipped_rows;
    outcome.failed_requests = counters.failed_requests;
    outcome.warnings = trace->warnings();
  }
  return outcome;
}

std::vector<std::pair<std::string, double>> named_shares(const PoolShares& shares) {
  std::vector<std::pair<std::string, double>> named;
  for (const PoolState& state : kPoolStates) {
    if (state.gauge == sim::Gauge::kOverReservation)
      named.emplace_back("internal", shares.internal());
    named.emplace_back(state.name, shares.*state.share);
  }
  return named;
}

PaperShares paper_shares(const PoolShares& shares) {
  return {.token_states = shares.used,
          .reservation = shares.reserved,
          .internal_fragmentation = shares.over_reservation + shares.tail,
          .external_and_others = shares.rounding + shares.out_of_window + shares.cached +
                                 shares.free + shares.overhead};
}

double mean_share(const sim::Report& report, sim::Gauge gauge) {
  return ratio(report.gauge(gauge).mean, static_cast<double>(report.pool_slots.value()));
}

Status check_seed_room(const RunConfig& config, int seeds) {
  if (config.seed <= std::numeric_limits<std::int64_t>::max() - seeds) return Status::ok();
  return Status::invalid_input(
      fmt::format("--seed: found {}; expected room for {} more seeds", config.seed, seeds));
}

Result<std::vector<RunOutcome>> run_seeds(const RunConfig& config, const SeedOptions& options) {
  RECTO_RETURN_IF_ERROR(check_seed_room(config, options.seeds));
  const auto seeds = static_cast<std::size_t>(options.seeds);
  return make_all<RunOutcome>(seeds, options.threads, [&](std::size_t index) {
    RunConfig seeded = config;
    seeded.seed += static_cast<std::int64_t>(index);
    return run(seeded);
  });
}

std::vector<NamedInterval> intervals_of(const std::vector<RunOutcome>& runs) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  std::vector<Columns> columns;
  for (const RunOutcome& each : runs) columns.push_back(flatten(to_json(each)));
  std::vector<NamedInterval> intervals;
  for (std::size_t i = 0; i < columns.front().size(); ++i) {
    const std::string& name = columns.front()[i].first;
    std::vector<double> values;
    for (const Columns& run : columns) {
      if (const std::optional<double> value = number_in<double>(run[i].second)) {
        values.push_back(is_of_no_request(name, run) ? kNone : *value);
      }
    }
    if (values.size() == runs.size()) {
      intervals.push_back({name, mean_with_interval(values), values});
    }
  }
  return intervals;
}

const MeanInterval& find_interval(const std::vector<NamedInterval>& intervals,
                                  std::string_view name) {
  const auto found = std::ranges::find(intervals, name, &NamedInterval::name);
  RECTO_CHECK(found != intervals.end());
  return found->interval;
}

double student_t(int degrees_of_freedom) {
  RECTO_CHECK_GE(degrees_of_freedom, 1);
  // Abramowitz & Stegun, Handbook of Mathematical Functions, table 26.10.
  static constexpr std::array kTable{12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306,
                                     2.262,  2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
                                     2.110,  2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064,
                                     2.060,  2.056, 2.052, 2.048, 2.045, 2.042};
  const auto row = static_cast<std::size_t>(degrees_of_freedom) - 1;
  if (row < kTable.size()) return kTable[row];
  // The same, 26.7.5.
  const double z = 1.959964;
  const double n = degrees_of_freedom;
  const double z3 = z * z * z;
  const double z5 = z3 * z * z;
  return z + (z3 + z) / (4 * n) + (5 * z5 + 16 * z3 + 3 * z) / (96 * n * n);
}

MeanInterval mean_with_interval(std::span<const double> values) {
  RECTO_CHECK_GE(values.size(), 1u);
  const auto n = static_cast<double>(values.size());
  MeanInterval result;
  for (const double value : values) result.mean += value / n;
  if (values.size() == 1) return result;
  double squares = 0;
  for (const double value : values) squares += (value - result.mean) * (value - result.mean);
  const double deviation = std::sqrt(squares / (n - 1));
  result.half_width = student_t(static_cast<int>(values.size()) - 1) * deviation / std::sqrt(n);
  return result;
}

}  // namespace recto::experiments

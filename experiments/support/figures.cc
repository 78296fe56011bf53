#include "experiments/support/figures.h"

#include <cstdint>

#include "core/model_table.h"
#include "core/units.h"

namespace recto::experiments {
namespace {

constexpr double kTableEntryBytes = 4;  // block ids are 32-bit

double ratio(double part, double whole) { return whole > 0 ? part / whole : 0; }

PoolShares make_shares(const sim::Report& report) {
  return {.used = mean_share(report, sim::Gauge::kUsed),
          .reserved = mean_share(report, sim::Gauge::kReserved),
          .over_reservation = mean_share(report, sim::Gauge::kOverReservation),
          .rounding = mean_share(report, sim::Gauge::kRounding),
          .tail = mean_share(report, sim::Gauge::kTail),
          .out_of_window = mean_share(report, sim::Gauge::kOutOfWindow),
          .cached = mean_share(report, sim::Gauge::kCached),
          .free = mean_share(report, sim::Gauge::kFree),
          .overhead = mean_share(report, sim::Gauge::kOverhead)};
}

PaperShares make_paper_shares(const PoolShares& shares) {
  return {.token_states = shares.used,
          .reservation = shares.reserved,
          .internal_fragmentation = shares.over_reservation + shares.tail,
          .external_and_others = shares.rounding + shares.out_of_window + shares.cached +
                                 shares.free + shares.overhead};
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

}  // namespace

double mean_share(const sim::Report& report, sim::Gauge gauge) {
  return ratio(report.gauge(gauge).mean, static_cast<double>(report.pool_slots.value()));
}

Figures make_figures(const sim::Report& report, const ResolvedRun& run) {
  const sim::Counters& counters = report.counters;
  const double entries = report.gauge(sim::Gauge::kTableEntries).mean;
  const double blocks = report.gauge(sim::Gauge::kHeldBlocks).mean;
  const double makespan_s = seconds(report.makespan);
  Figures figures;
  figures.shares = make_shares(report);
  figures.paper = make_paper_shares(figures.shares);
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
  // A preempted request that finds its own tokens again shares them with nobody.
  figures.first_hit_share =
      ratio(static_cast<double>(counters.prefix_hit_tokens - counters.readmitted_hit_tokens),
            static_cast<double>(counters.prefix_query_tokens - counters.readmitted_query_tokens));
  figures.prefix_flops_saved = flops_saved(counters, run.model);
  figures.p99_meets_ttft = meets(report.ttft, run.options.limits.ttft);
  figures.p99_meets_tpot = meets(report.tpot, run.options.limits.tpot);
  return figures;
}

}  // namespace recto::experiments

#include "experiments/simulate/summary.h"

#include <fmt/format.h>

#include <utility>

#include "experiments/support/numbers.h"
#include "experiments/support/remarks.h"
#include "experiments/support/request_source.h"
#include "experiments/support/state_bar.h"
#include "experiments/support/table.h"
#include "sim/metrics/gauges.h"

namespace recto::experiments {
namespace {

constexpr std::size_t kBarColumns = 60;

std::string line(std::string_view name, const std::string& value) {
  return fmt::format("  {:<22}{}\n", name, value);
}

// Percentiles of a sum are not sums of percentiles: states that are reported in parts have a row
// for each part.
std::string states_text(const sim::Report& report, const Figures& figures,
                        const Terminal& terminal) {
  const double pool = static_cast<double>(report.pool_slots.value());
  Table table({{"share of the pool, %", Align::kLeft}, {"mean"}, {"p50"}, {"p90"}, {"p99"}});
  const auto add = [&](const char* name, sim::Gauge gauge) {
    const sim::GaugeSummary& summary = report.gauge(gauge);
    table.add_row({name, percent(summary.mean / pool),
                   percent(static_cast<double>(summary.p50) / pool),
                   percent(static_cast<double>(summary.p90) / pool),
                   percent(static_cast<double>(summary.p99) / pool)});
  };
  add("used", sim::Gauge::kUsed);
  add("reserved", sim::Gauge::kReserved);
  table.add_row({"internal", percent(figures.shares.internal()), "", "", ""});
  add("  over-reservation", sim::Gauge::kOverReservation);
  add("  placement rounding", sim::Gauge::kRounding);
  add("  tail of last block", sim::Gauge::kTail);
  add("  out of window", sim::Gauge::kOutOfWindow);
  add("cached", sim::Gauge::kCached);
  add("free", sim::Gauge::kFree);
  add("overhead", sim::Gauge::kOverhead);
  add("blocked free", sim::Gauge::kBlockedFree);
  add("unplaceable free", sim::Gauge::kUnplaceableFree);
  add("largest hole", sim::Gauge::kLargestHole);
  return "Memory\n\n" + state_bar(figures.shares, kBarColumns, terminal) + '\n' +
         state_legend(terminal) + "\n\n" + table.text() + '\n';
}

std::string host_text(const sim::Report& report) {
  const auto mean = [&](sim::Gauge gauge) { return report.gauge(gauge).mean; };
  return fmt::format("{} slots; mean {:.1f} used, {:.1f} reserved, {:.1f} internal, {:.1f} free",
                     grouped(report.host_pool_slots.value()), mean(sim::Gauge::kHostUsed),
                     mean(sim::Gauge::kHostReserved),
                     mean(sim::Gauge::kHostTail) + mean(sim::Gauge::kHostOutOfWindow),
                     mean(sim::Gauge::kHostFree));
}

std::string memory_lines(const sim::Report& report, const Figures& figures) {
  std::string text = line("used of held slots", percent(figures.used_of_held) + " %");
  text += line("saved by sharing", percent(figures.sharing_saving) + " % of block-table entries");
  text += line("copied on write", bytes_text(figures.copied_bytes));
  text +=
      line("block tables", fmt::format("{} mean, {} at most", bytes_text(figures.table_bytes_mean),
                                       bytes_text(figures.table_bytes_max)));
  if (report.host_pool_slots.value() > 0) {
    text += line("host pool", host_text(report));
  }
  return text + '\n';
}

std::string latency_text(const sim::Report& report) {
  Table table({{"latency", Align::kLeft}, {"mean"}, {"p50"}, {"p90"}, {"p99"}, {"max"}});
  const auto add = [&](const char* name, const sim::LatencySummary& latency) {
    if (latency.count == 0) {
      table.add_row({name, "-", "-", "-", "-", "-"});
      return;
    }
    table.add_row({name, duration_text(latency.mean_ns),
                   duration_text(static_cast<double>(latency.p50_ns)),
                   duration_text(static_cast<double>(latency.p90_ns)),
                   duration_text(static_cast<double>(latency.p99_ns)),
                   duration_text(static_cast<double>(latency.max_ns))});
  };
  add("queueing", report.queueing);
  add("time to first token", report.ttft);
  add("time per output token", report.tpot);
  add("end to end", report.end_to_end);
  add("end to end / token", report.normalized);
  return "Service\n\n" + table.text() + '\n';
}

std::string limit_text(std::string_view name, const std::optional<SimDuration>& limit,
                       const std::optional<bool>& verdict) {
  if (!limit) return "";
  if (!verdict) return line(fmt::format("p99 of {}", name), "none was seen");
  return line(fmt::format("p99 of {}", name),
              fmt::format("{} the limit of {}", *verdict ? "meets" : "MISSES",
                          duration_text(static_cast<double>(limit->value()))));
}

std::string service_lines(const ResolvedRun& run, const sim::Report& report,
                          const Figures& figures) {
  const sim::Counters& counters = report.counters;
  const sim::GaugeSummary& batch = report.gauge(sim::Gauge::kRunningRequests);
  const sim::GaugeSummary& sequences = report.gauge(sim::Gauge::kRunningSequences);
  const sim::GaugeSummary& queue = report.gauge(sim::Gauge::kWaitingRequests);
  const sim::LatencyLimits& limits = run.options.limits;
  std::string text = line("throughput", fmt::format("{} requests/s, {} output tokens/s",
                                                    short_number(figures.requests_per_s),
                                                    short_number(figures.output_tokens_per_s)));
  if (limits.ttft || limits.tpot) {
    text += line(
        "goodput",
        fmt::format("{} requests/s met the limits ({} of {})", short_number(figures.goodput_per_s),
                    grouped(counters.requests_within_limits), grouped(counters.requests_finished)));
  }
  text += limit_text("TTFT", limits.ttft, figures.p99_meets_ttft);
  text += limit_text("TPOT", limits.tpot, figures.p99_meets_tpot);
  text += line("batch", fmt::format("{:.2f} requests, {:.2f} sequences; p99 {}", batch.mean,
                                    sequences.mean, sequences.p99));
  text += line("queue", fmt::format("{:.2f} requests; p99 {}", queue.mean, queue.p99));
  text += line("preemptions", fmt::format("{} by recompute ({} tokens computed again), {} by swap",
                                          grouped(counters.preemptions_recompute),
                                          grouped(counters.recomputed_tokens),
                                          grouped(counters.preemptions_swap)));
  if (counters.swapped_out_slots > 0) {
    text += line("swapped", fmt::format("{} slots out, {} in", grouped(counters.swapped_out_slots),
                                        grouped(counters.swapped_in_slots)));
  }
  text +=
      line("prefix hits",
           fmt::format("{} of {} tokens ({} %); {} FLOP saved", grouped(counters.prefix_hit_tokens),
                       grouped(counters.prefix_query_tokens), percent(figures.prefix_hit_share),
                       scientific(figures.prefix_flops_saved)));
  if (counters.readmitted_hit_tokens > 0) {
    text +=
        line("  after preemptions", grouped(counters.readmitted_hit_tokens) + " of these tokens");
  }
  return text + '\n';
}

std::string time_text(const sim::Report& report) {
  const sim::TimeSpent& spent = report.time_spent;
  const double total = static_cast<double>(spent.total().value());
  const auto part = [&](std::string_view name, SimDuration duration) {
    const auto ns = static_cast<double>(duration.value());
    const std::string text = ns < 0 ? "-" + duration_text(-ns) : duration_text(ns);
    return line(name, fmt::format("{} ({} %)", text, percent(total > 0 ? ns / total : 0)));
  };
  std::string text = fmt::format("Time: {} steps in {} of {} simulated\n\n",
                                 grouped(report.counters.steps), duration_text(total),
                                 duration_text(static_cast<double>(report.makespan.value())));
  text += part("fixed", spent.fixed) + part("linear", spent.linear) +
          part("attention", spent.attention) + part("copy on write", spent.copy);
  if (spent.overlap.value() != 0) text += part("hidden by overlap", spent.overlap);
  if (spent.swap.value() != 0) text += part("swap", spent.swap);
  return text + '\n';
}

}  // namespace

std::string setting_text(const ResolvedRun& run, const sim::Report& report) {
  const RunConfig& config = run.config;
  const std::int64_t rejected = report.counters.requests_rejected;
  std::string text =
      wrapped(fmt::format("{}, {}{}{}; {} on {} x {}", workload_name(config),
                          counted(report.counters.requests_arrived, "request"),
                          rejected == 0 ? "" : fmt::format(" ({} REJECTED)", grouped(rejected)),
                          config.decoding == "single" ? "" : ", decoding " + config.decoding,
                          run.model.name, config.tp, run.gpu.name));
  text += wrapped(fmt::format(
      "{}{}; pool of {} slots, {} of KV on each card; {} batching", report.allocator,
      config.manager == "production" ? ", production manager" : "", grouped(run.pool_slots.value()),
      bytes_text(
          static_cast<double>(run.pool_slots.value() * run.options.kv_bytes_per_token.value())),
      config.batching));
  return text + '\n';
}

std::string summary_text(const ResolvedRun& run, const RunOutcome& outcome,
                         const Terminal& terminal) {
  const sim::Report& report = outcome.report;
  const Figures& figures = outcome.figures;
  std::string remarks;
  for (const std::string& remark : grid_remarks({&run.config, 1})) remarks += wrapped(remark);
  return setting_text(run, report) + states_text(report, figures, terminal) +
         memory_lines(report, figures) + latency_text(report) +
         service_lines(run, report, figures) + time_text(report) + means_remark(report) +
         wrapped("Step times: " + report.time_model) + remarks + rejected_remark(report, "") +
         trace_remark(outcome);
}

}  // namespace recto::experiments

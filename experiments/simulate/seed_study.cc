#include "experiments/simulate/seed_study.h"

#include <fmt/format.h>

#include <string_view>

#include "experiments/support/numbers.h"
#include "experiments/support/report_json.h"
#include "experiments/support/table.h"

namespace recto::experiments {
namespace {

// How a number is shown: `scale` times its value, in `unit`.
struct Shown {
  std::string_view name;  // as flatten() has it
  std::string_view label;
  double scale;
  std::string_view unit;
};
constexpr Shown kShown[] = {
    {"figures.mean_shares.used", "used", 100, "% of the pool"},
    {"figures.mean_shares.reserved", "reserved", 100, "%"},
    {"figures.mean_shares.internal", "internal", 100, "%"},
    {"figures.mean_shares.cached", "cached", 100, "%"},
    {"figures.mean_shares.free", "free", 100, "%"},
    {"figures.mean_shares.overhead", "overhead", 100, "%"},
    {"figures.used_of_held", "used of held slots", 100, "%"},
    {"figures.sharing_saving", "saved by sharing", 100, "%"},
    {"report.gauges.running_requests.mean", "batch", 1, "requests"},
    {"report.gauges.waiting_requests.mean", "queue", 1, "requests"},
    {"report.counters.preemptions_recompute", "preemptions by recompute", 1, ""},
    {"report.counters.preemptions_swap", "preemptions by swap", 1, ""},
    {"figures.requests_per_s", "throughput", 1, "requests/s"},
    {"figures.output_tokens_per_s", "output", 1, "tokens/s"},
    {"figures.goodput_per_s", "goodput", 1, "requests/s"},
    {"figures.prefix_hit_share", "prefix hits", 100, "% of tokens"},
    {"figures.first_hit_share", "  at first admissions", 100, "% of prompts"},
    {"report.ttft.mean_ns", "TTFT, mean", 1e-6, "ms"},
    {"report.ttft.p99_ns", "TTFT, p99", 1e-6, "ms"},
    {"report.tpot.mean_ns", "TPOT, mean", 1e-6, "ms"},
    {"report.tpot.p99_ns", "TPOT, p99", 1e-6, "ms"},
    {"report.end_to_end.mean_ns", "end to end, mean", 1e-9, "s"},
    {"report.normalized.mean_ns", "end to end / token, mean", 1e-6, "ms"},
    {"report.counters.requests_rejected", "rejected", 1, "requests"},
};

}  // namespace

std::string seeds_text(const std::vector<SeedRun>& runs) {
  Table table(
      {{fmt::format("{} seeds from {} on", runs.size(), runs.front().config.seed), Align::kLeft},
       {"mean"},
       {"95 % +-"},
       {"", Align::kLeft}});
  const std::vector<NamedInterval> intervals = intervals_of(runs);
  for (const Shown& shown : kShown) {
    for (const NamedInterval& named : intervals) {
      if (named.name != shown.name) continue;
      table.add_row({std::string(shown.label), short_number(named.interval.mean * shown.scale),
                     short_number(named.interval.half_width * shown.scale),
                     std::string(shown.unit)});
    }
  }
  return table.text() + "\n+-: half of the confidence interval of the mean, by Student's t.\n";
}

Json seeds_json(const std::vector<SeedRun>& runs) {
  Json json = {{"seeds", Json::array()}, {"means", Json::object()}, {"runs", Json::array()}};
  for (const NamedInterval& named : intervals_of(runs)) {
    json["means"][named.name] = {{"mean", named.interval.mean},
                                 {"half_width_95", named.interval.half_width}};
  }
  for (const SeedRun& run : runs) {
    json["seeds"].push_back(run.config.seed);
    json["runs"].push_back(to_json(run.outcome, run.figures));
  }
  return json;
}

}  // namespace recto::experiments

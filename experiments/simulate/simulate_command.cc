#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "core/json.h"
#include "experiments/simulate/summary.h"
#include "experiments/simulate/timeline.h"
#include "experiments/support/command.h"
#include "experiments/support/manifest.h"
#include "experiments/support/numbers.h"
#include "experiments/support/parallel.h"
#include "experiments/support/remarks.h"
#include "experiments/support/report_json.h"
#include "experiments/support/resolved_run.h"
#include "experiments/support/run.h"
#include "experiments/support/run_config.h"
#include "experiments/support/table.h"

namespace recto::experiments {
namespace {

// The form in which a number is shown: `scale` times its value, in `unit`.
struct Shown {
  std::string_view name;  // as in flatten()
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

// A table of the main figures.
std::string seeds_text(const std::vector<RunOutcome>& runs) {
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

// All figures, and each run's report.
Json seeds_json(const std::vector<RunOutcome>& runs) {
  Json json = {{"seeds", Json::array()}, {"means", Json::object()}, {"runs", Json::array()}};
  for (const NamedInterval& named : intervals_of(runs)) {
    json["means"][named.name] = {{"mean", named.interval.mean},
                                 {"half_width_95", named.interval.half_width}};
  }
  for (const RunOutcome& run : runs) {
    json["seeds"].push_back(run.config.seed);
    json["runs"].push_back(to_json(run));
  }
  return json;
}

struct SimulateFlags {
  RunConfig config;
  int seeds = 1;
  int threads = 0;
  bool is_json = false;
  bool is_ascii = false;
  std::string timeline;
  double timeline_window_ms = 100;
};

Result<Json> begin_json(const RunConfig& config) {
  Json inputs = Json::array();
  for (const std::string& path : input_files(config)) {
    const Result<Json> file = describe_file(path);
    RECTO_RETURN_IF_ERROR(file.status());
    inputs.push_back(file.value());
  }
  return Json{{"recto", {{"version", kVersion}, {"commit", commit()}}},
              {"inputs", inputs},
              {"settings", to_json(config)},
              {"remarks", grid_remarks({&config, 1})}};
}

// Prints settings and inputs, followed by `results`.
Status print_json(const RunConfig& config, Json results, CommandContext& context) {
  Result<Json> json = begin_json(config);
  RECTO_RETURN_IF_ERROR(json.status());
  json.value().update(std::move(results));
  context.out << json_text(json.value(), 2) << '\n';
  return Status::ok();
}

Status run_one(const SimulateFlags& flags, const ResolvedRun& resolved, CommandContext& context) {
  std::unique_ptr<Timeline> timeline;
  if (!flags.timeline.empty()) {
    RECTO_RETURN_IF_ERROR(
        check_no_input(flags.timeline, input_files(flags.config)).in("--timeline"));
    const SimDuration window(static_cast<std::int64_t>(std::floor(flags.timeline_window_ms * 1e6)));
    const Result<TimeModelFacts> facts = time_model_facts(flags.config);
    RECTO_RETURN_IF_ERROR(facts.status());
    const Json about = {{"program", fmt::format("recto {} ({})", kVersion, commit())},
                        {"time_model", facts.value().name},
                        {"time_model_provenance", facts.value().provenance}};
    Result<std::unique_ptr<Timeline>> created = Timeline::create(flags.timeline, window, about);
    RECTO_RETURN_IF_ERROR(created.status().in("--timeline"));
    timeline = std::move(created).value();
  }
  const Result<RunOutcome> outcome = run(flags.config, timeline.get());
  RECTO_RETURN_IF_ERROR(outcome.status());
  if (timeline != nullptr) RECTO_RETURN_IF_ERROR(timeline->finish());
  if (flags.is_json) {
    RECTO_RETURN_IF_ERROR(print_json(flags.config, to_json(outcome.value()), context));
    return check_any_served(outcome.value().report);
  }
  Terminal terminal = context.terminal;
  if (flags.is_ascii) terminal.charset = Charset::kAscii;
  context.out << summary_text(resolved, outcome.value(), terminal);
  return check_any_served(outcome.value().report);
}

Status run_several(const SimulateFlags& flags, const ResolvedRun& resolved,
                   CommandContext& context) {
  RECTO_RETURN_IF_ERROR(refuse_idle_seeds({&flags.config, 1}, flags.seeds));
  const Result<std::vector<RunOutcome>> runs = run_seeds(
      flags.config,
      {.seeds = flags.seeds, .threads = flags.threads > 0 ? flags.threads : default_threads()});
  RECTO_RETURN_IF_ERROR(runs.status());
  if (flags.is_json) {
    return print_json(flags.config, seeds_json(runs.value()), context);
  }
  const RunOutcome& first = runs.value().front();
  context.out << setting_text(resolved, first.report) << seeds_text(runs.value()) << '\n'
              << means_remark(first.report) << provenance_remark(flags.config);
  for (const std::string& remark : grid_remarks({&flags.config, 1})) context.out << wrapped(remark);
  for (const RunOutcome& run : runs.value()) {
    context.out << rejected_remark(run.report, "seed " + std::to_string(run.config.seed));
  }
  context.out << trace_remark(first);
  return Status::ok();
}

Status simulate(const SimulateFlags& flags, CommandContext& context) {
  if (flags.seeds > 1 && !flags.timeline.empty()) {
    return Status::invalid_input("--timeline: found --seeds above 1; expected a single run");
  }
  const Result<ResolvedRun> resolved = resolve(flags.config);
  RECTO_RETURN_IF_ERROR(resolved.status());
  RECTO_RETURN_IF_ERROR(validate(flags.config));
  RECTO_RETURN_IF_ERROR(refuse_unused({&flags.config, 1}));
  return flags.seeds > 1 ? run_several(flags, resolved.value(), context)
                         : run_one(flags, resolved.value(), context);
}

void add_output_flags(Command& command, SimulateFlags& flags) {
  const OptionGroup output{command, "Output"};
  output.add("--json", flag(flags.is_json), "print every field of the report as JSON");
  output.add("--timeline FILE", nonempty_text(flags.timeline, "a file"),
             "write a trace for Perfetto (ui.perfetto.dev)");
  output.add("--timeline-window-ms MS", number(flags.timeline_window_ms, {0.001, 1e9}),
             "interval of its counters [100]");
  output.add("--seeds N", integer(flags.seeds, {1, 10'000}),
             "run with N seeds, from --seed on: means and 95 %\nintervals [1]");
  output.add("--threads N", integer(flags.threads, {1, 4096}), "simulations at a time [all cores]");
  output.add("--ascii", flag(flags.is_ascii), "draw bars without block characters");
}

}  // namespace

Command simulate_command() {
  Command command("simulate", "one configuration in depth: memory, latency, throughput");
  auto flags = std::make_shared<SimulateFlags>();
  add_output_flags(command, *flags);
  add_run_flags(command, flags->config);
  command.footer =
      spec_help() +
      "Examples:\n"
      "  recto simulate\n"
      "  recto simulate --trace azure.csv --model Llama-3.1-8B --gpu H100 --block-size 32\n"
      "  recto simulate --workload agent --allocator prefix-cached --model Llama-3.1-8B \\\n"
      "      --ttft-limit-ms 500 --tpot-limit-ms 50\n"
      "  recto simulate --arrivals gamma:rate=2,cv=3 --outputs uniform:16,512 --seeds 10\n"
      "  recto simulate --prompts empirical:prompts@azure.csv --outputs "
      "empirical:outputs@azure.csv\n"
      "  recto simulate --decoding parallel:4 --requests 500 --timeline run.json\n"
      "  recto simulate --preemption swap --host-gib 64 --json > report.json\n";
  command.run = [flags](CommandContext& context) { return simulate(*flags, context); };
  return command;
}

}  // namespace recto::experiments

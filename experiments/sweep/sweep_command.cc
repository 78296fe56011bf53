#include "experiments/support/command.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/json.h"
#include "experiments/report/report_command.h"
#include "experiments/support/manifest.h"
#include "experiments/support/numbers.h"
#include "experiments/support/output_file.h"
#include "experiments/support/parallel.h"
#include "experiments/support/resolved_run.h"
#include "experiments/support/run_config.h"
#include "experiments/sweep/sweep_grid.h"
#include "experiments/sweep/sweep_identity.h"
#include "experiments/sweep/sweep_journal.h"
#include "experiments/sweep/sweep_parts.h"
#include "experiments/sweep/sweep_results.h"

namespace recto::experiments {
namespace {

constexpr std::size_t kTerminalColumns = 100;

constexpr const char* kFooter = R"(
Each setting takes one value, or several, which make it an axis; the last axis varies fastest.
Numbers and names may be separated by commas, other texts are given by repeating the flag.

DIR then holds sweep.csv (a row per point), manifest.json, and sweep.journal.jsonl, from which a
killed sweep resumes when it is called again with the same flags. Failed points are run again.

Examples:
  recto sweep --out results --block-size 8,16,32 --allocator paged,contiguous-max
  recto sweep --out results --trace azure.csv --limit 2000 --scale-rate 1,2,4 --gpu H100,H200
  recto sweep --out results --arrivals poisson:2 --arrivals poisson:4 --seeds 10
  recto sweep --out results --grid grid.json --threads 8
  recto sweep --grid grid.json --runs 17             (one run, as it would be journalled)

  grid.json: {"base": {"workload": "chat", "pool_gib": 12},
              "axes": {"allocator": ["paged", "prefix-cached"], "block_size": [8, 16, 32]},
              "seeds": 5})";

struct SweepArguments {
  SweepFlags flags;
  std::string grid_path;
  std::string out;
  std::optional<std::int64_t> seeds;
  int threads = default_threads();
  bool is_fresh = false;
  std::string runs;
  bool is_collecting = false;
  bool has_report = false;
};

Result<SweepGrid> make_grid(const SweepArguments& arguments, const CommandContext& context) {
  SweepGrid grid;
  if (!arguments.grid_path.empty()) {
    Result<SweepGrid> loaded = load_sweep_grid(arguments.grid_path);
    RECTO_RETURN_IF_ERROR(loaded.status().in("--grid"));
    grid = std::move(loaded).value();
  }
  RECTO_RETURN_IF_ERROR(arguments.flags.apply(context.given, grid));
  if (arguments.seeds) RECTO_RETURN_IF_ERROR(grid.set_seed_count(*arguments.seeds).in("--seeds"));
  return grid;
}

// Some points may be impossible, such as a model on a card that cannot hold it; if all are, the
// grid is a mistake.
Status check_any_possible(const SweepGrid& grid) {
  Status first;
  for (std::int64_t point = 0; point < grid.point_count(); ++point) {
    const Status status = validate(grid.run_config(point * grid.seed_count()));
    if (status.is_ok()) return status;
    if (point == 0) first = status;
  }
  return grid.point_count() == 1 ? first : first.in("no point can be run; the first");
}

// Input files must not be overwritten.
Status check_outputs(const SweepArguments& arguments, const std::vector<RunConfig>& configs) {
  std::set<std::string> inputs;
  if (!arguments.grid_path.empty()) inputs.insert(arguments.grid_path);
  for (const RunConfig& config : configs) {
    for (const std::string& file : input_files(config)) inputs.insert(file);
  }
  for (const char* file :
       {"/sweep.csv", "/manifest.json", "/sweep.journal.jsonl", "/report.html", "/report.json"}) {
    RECTO_RETURN_IF_ERROR(
        check_no_input(arguments.out + file, {inputs.begin(), inputs.end()}).in("--out"));
  }
  if (arguments.has_report) RECTO_RETURN_IF_ERROR(check_page_place(arguments.out));
  return check_own_folder(arguments.out, "sweep").in("--out");
}

Status check_sweep(const SweepArguments& arguments, const SweepGrid& grid) {
  RECTO_RETURN_IF_ERROR(check_any_possible(grid));
  const std::vector<RunConfig> configs = point_configs(grid);
  RECTO_RETURN_IF_ERROR(refuse_unused(configs));
  RECTO_RETURN_IF_ERROR(refuse_idle_seeds(configs, grid.seed_count()));
  return check_outputs(arguments, configs);
}

Status write_results(const SweepArguments& arguments, const SweepGrid& grid, Json manifest,
                     const std::vector<SweepPoint>& points) {
  Json failed = Json::array();
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (!points[i].error.empty()) failed.push_back({{"point", i}, {"error", points[i].error}});
  }
  manifest["points"] = points.size();
  manifest["failed_points"] = failed;
  const std::string rejected = rejected_points(points);
  if (!rejected.empty()) manifest["remarks"].push_back(rejected);
  const std::string csv = sweep_csv(grid, points);
  manifest["files"] = {{"sweep.csv", written_file(csv)}};
  RECTO_RETURN_IF_ERROR(write_file(arguments.out + "/sweep.csv", csv));
  return write_file(arguments.out + "/manifest.json", json_text(manifest, 2) + "\n");
}

// A sweep succeeds if all of its points do.
Status verdict(const SweepGrid& grid, const std::vector<SweepPoint>& points) {
  const auto has_failed = [](const SweepPoint& point) { return !point.error.empty(); };
  const auto first = std::ranges::find_if(points, has_failed);
  if (first == points.end()) return Status::ok();
  const auto failed = static_cast<std::size_t>(std::ranges::count_if(points, has_failed));
  const std::string message =
      fmt::format("{} of {} points failed; the first: {}: {}", failed, points.size(),
                  point_name(grid, first - points.begin()), first->error);
  // If every point fails, the grid or the trace is at fault.
  return failed == points.size() ? Status::invalid_input(message) : Status::failed(message);
}

// Runs all runs here, or collects the records of runs on other machines.
Result<std::vector<RunRecord>> run_all(const SweepArguments& arguments, const SweepGrid& grid,
                                       const Json& manifest, CommandContext& context) {
  const auto config_hash_of = [&](std::int64_t run) -> std::optional<std::string> {
    if (run < 0 || run >= grid.run_count()) return std::nullopt;
    return config_hash(grid.run_config(run));
  };
  Result<SweepJournal> journal =
      SweepJournal::open(arguments.out + "/sweep.journal.jsonl", manifest, config_hash_of,
                         arguments.is_fresh ? JournalStart::kFresh : JournalStart::kContinue);
  RECTO_RETURN_IF_ERROR(journal.status());
  const std::vector<std::int64_t> left = runs_to_do(grid, journal.value());
  const auto all = static_cast<std::size_t>(grid.run_count());
  if (journal.value().dropped_bytes() > 0) {
    context.err << "recto: the journal's last line was cut off; its run is repeated\n";
  }
  if (left.size() < all) {
    context.err << fmt::format("recto: {} of {} runs were done before; resuming\n",
                               all - left.size(), all);
  }
  ProgressBar progress(context.err, context.terminal, left.size());
  std::atomic<int> failed{0};
  const auto on_finished = [&](std::int64_t, const RunRecord& record) {
    if (!record.is_ok()) ++failed;
    progress.advance(failed == 0 ? "runs" : fmt::format("runs, {} failed", failed.load()));
  };
  if (!arguments.is_collecting) {
    return run_sweep(grid, journal.value(),
                     {.threads = arguments.threads, .on_finished = on_finished});
  }
  context.out << plan_line(grid, manifest, left) << std::flush;
  return collect_runs(grid, manifest, journal.value(), {.on_finished = on_finished});
}

Status sweep(const SweepArguments& arguments, CommandContext& context) {
  const Result<SweepGrid> made = make_grid(arguments, context);
  RECTO_RETURN_IF_ERROR(made.status());
  const SweepGrid& grid = made.value();
  if (!arguments.runs.empty()) {
    const Result<std::vector<RunSpan>> spans = parse_run_spans(arguments.runs, grid.run_count());
    RECTO_RETURN_IF_ERROR(spans.status().in("--runs"));
    return print_runs(grid, spans.value(), context.out);
  }
  if (arguments.out.empty())
    return Status::invalid_input("--out: expected a folder for the results");
  RECTO_RETURN_IF_ERROR(check_sweep(arguments, grid));
  const Result<Json> manifest = describe_sweep(grid);
  RECTO_RETURN_IF_ERROR(manifest.status());

  RECTO_RETURN_IF_ERROR(make_folder(arguments.out).in("--out"));
  const Result<std::vector<RunRecord>> records =
      run_all(arguments, grid, manifest.value(), context);
  RECTO_RETURN_IF_ERROR(records.status());

  const std::vector<SweepPoint> points = collect_points(grid, records.value());
  RECTO_RETURN_IF_ERROR(write_results(arguments, grid, manifest.value(), points));
  context.out << sweep_table(grid, points, kTerminalColumns) << '\n';
  for (const std::string& remark : remarks_on(grid)) context.out << remark;
  context.out << rejected_points(points) << skipped_points(points)
              << fmt::format("{} in {}/sweep.csv\n", counted(std::ssize(points), "point"),
                             arguments.out);
  RECTO_RETURN_IF_ERROR(arguments.has_report
                            ? write_folder_report({.folder = arguments.out}, context)
                            : drop_old_page(arguments.out, context));
  return verdict(grid, points);
}

}  // namespace

Command sweep_command() {
  auto arguments = std::make_shared<SweepArguments>();
  Command command("sweep", "run a grid of settings on all cores, resumably");
  command.add("--out DIR", nonempty_text(arguments->out, "a folder"),
              "folder for the results, created if needed");
  command.add("--grid FILE", nonempty_text(arguments->grid_path, "a file"),
              "take base, axes and seeds from a JSON file");
  command.add("--seeds N", integer(arguments->seeds, {1, kSweepRunsMax}),
              "run each point under N seeds: means and 95 % intervals");
  command.add("--threads N", integer(arguments->threads, {1, 4096}), "runs at a time [all cores]");
  command.add("--fresh", flag(arguments->is_fresh),
              "discard the results of an earlier sweep in DIR");
  command
      .add("--collect", flag(arguments->is_collecting),
           "run nothing: print the runs left, read output of --runs")
      .excludes = {"--threads"};
  command.add("--report", flag(arguments->has_report),
              "write DIR/report.html, too: see recto report");
  command
      .add("--runs LIST", nonempty_text(arguments->runs, "numbers of runs, such as 0-9,12"),
           "only these runs, such as 0-9,12: printed, without --out")
      .excludes = {"--out", "--threads", "--fresh", "--report", "--collect"};
  arguments->flags.add_to(command);
  command.footer = "\n" + spec_help() + (kFooter + 1);
  command.run = [arguments](CommandContext& context) { return sweep(*arguments, context); };
  return command;
}

}  // namespace recto::experiments

#include "experiments/sweep/sweep_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "experiments/report/folder_report.h"
#include "experiments/support/grid_remarks.h"
#include "experiments/support/manifest.h"
#include "experiments/support/output_file.h"
#include "experiments/support/parallel.h"
#include "experiments/support/progress.h"
#include "experiments/support/remarks.h"
#include "experiments/support/resolved_run.h"
#include "experiments/support/spec_help.h"
#include "experiments/support/unused_settings.h"
#include "experiments/support/usage_error.h"
#include "experiments/sweep/sweep_columns.h"
#include "experiments/sweep/sweep_flags.h"
#include "experiments/sweep/sweep_grid_file.h"
#include "experiments/sweep/sweep_journal.h"
#include "experiments/sweep/sweep_results.h"
#include "experiments/sweep/sweep_runner.h"

namespace recto::experiments {
namespace {

constexpr std::size_t kTerminalColumns = 100;

constexpr const char* kFooter = R"(
Each setting takes one value, or several, which make it an axis; the last axis varies fastest.
Numbers and names may be separated by commas, other texts are given by repeating the flag.

DIR then holds sweep.csv (a row per point), manifest.json, and sweep.journal.jsonl, from which a
sweep that was killed goes on when it is called again as before. Failed points are tried again.

Examples:
  recto sweep --out results --block-size 8,16,32 --allocator paged,contiguous-max
  recto sweep --out results --trace azure.csv --limit 2000 --scale-rate 1,2,4 --gpu H100,H200
  recto sweep --out results --arrivals poisson:2 --arrivals poisson:4 --seeds 10
  recto sweep --out results --grid grid.json --threads 8

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
  bool has_report = false;
};

Result<SweepGrid> make_grid(const SweepArguments& arguments) {
  SweepGrid grid;
  if (!arguments.grid_path.empty()) {
    Result<SweepGrid> loaded = load_sweep_grid(arguments.grid_path);
    RECTO_RETURN_IF_ERROR(loaded.status().in("--grid"));
    grid = std::move(loaded).value();
  }
  RECTO_RETURN_IF_ERROR(arguments.flags.apply(grid));
  if (arguments.seeds) RECTO_RETURN_IF_ERROR(grid.set_seed_count(*arguments.seeds).in("--seeds"));
  return grid;
}

// Single points may be impossible, such as a model on a card that cannot hold it; if all are, the
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

// Each point under its first seed.
std::vector<RunConfig> point_configs(const SweepGrid& grid) {
  std::vector<RunConfig> configs;
  for (std::int64_t point = 0; point < grid.point_count(); ++point) {
    configs.push_back(grid.run_config(point * grid.seed_count()));
  }
  return configs;
}

// What step times rest on, over all points, and what the points differ in unasked.
std::set<std::string> remarks_on(const SweepGrid& grid) {
  const std::vector<RunConfig> configs = point_configs(grid);
  std::set<std::string> remarks;
  for (const RunConfig& config : configs) remarks.insert(provenance_remark(config));
  for (const std::string& remark : grid_remarks(configs)) remarks.insert(wrapped(remark));
  return remarks;
}

// Nothing that is read may be written over.
Status check_outputs(const SweepArguments& arguments, const std::vector<RunConfig>& configs) {
  std::set<std::string> inputs;
  if (!arguments.grid_path.empty()) inputs.insert(arguments.grid_path);
  for (const RunConfig& config : configs) {
    for (const std::string& file : input_files(config)) inputs.insert(file);
  }
  for (const char* file :
       {"/sweep.csv", "/manifest.json", "/sweep.journal.jsonl", "/report.html"}) {
    RECTO_RETURN_IF_ERROR(
        check_no_input(arguments.out + file, {inputs.begin(), inputs.end()}).in("--out"));
  }
  return Status::ok();
}

// The manifest, apart from how the runs went. Its inputs are files by content.
Result<Json> describe_sweep(const SweepGrid& grid) {
  std::set<std::vector<std::string>> seen;
  std::vector<RunConfig> configs;
  for (const RunConfig& config : point_configs(grid)) {
    if (seen.insert(input_files(config)).second) configs.push_back(config);
  }
  Result<Json> manifest = begin_manifest("sweep", configs);
  RECTO_RETURN_IF_ERROR(manifest.status());
  manifest.value()["grid"] = to_json(grid);
  Json columns = Json::array();
  for (const SweepColumn& column : sweep_columns()) columns.push_back(column.name);
  manifest.value()["columns"] = columns;
  manifest.value()["remarks"] = remarks_on(grid);
  return manifest;
}

Status write_results(const SweepArguments& arguments, const SweepGrid& grid, Json manifest,
                     const std::vector<SweepPoint>& points) {
  Json failed = Json::array();
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (!points[i].error.empty()) failed.push_back({{"point", i}, {"error", points[i].error}});
  }
  manifest["points"] = points.size();
  manifest["failed_points"] = failed;
  RECTO_RETURN_IF_ERROR(write_file(arguments.out + "/sweep.csv", sweep_csv(grid, points)));
  return write_file(
      arguments.out + "/manifest.json",
      manifest.dump(2, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace) + "\n");
}

// A sweep is done if all of its points are.
Status verdict(const SweepGrid& grid, const std::vector<SweepPoint>& points) {
  const auto has_failed = [](const SweepPoint& point) { return !point.error.empty(); };
  const auto first = std::ranges::find_if(points, has_failed);
  if (first == points.end()) return Status::ok();
  const auto failed = static_cast<std::size_t>(std::ranges::count_if(points, has_failed));
  const std::string message =
      fmt::format("{} of {} points failed; the first: {}: {}", failed, points.size(),
                  point_name(grid, first - points.begin()), first->error);
  // What no point can do is a mistake of the grid or of the trace.
  return failed == points.size() ? Status::invalid_input(message) : Status::failed(message);
}

Result<std::vector<RunRecord>> run_all(const SweepArguments& arguments, const SweepGrid& grid,
                                       SweepJournal& journal, CommandContext& context) {
  const std::size_t left = runs_to_do(grid, journal).size();
  const auto all = static_cast<std::size_t>(grid.run_count());
  if (left < all) {
    context.err << fmt::format("recto: {} of {} runs were done before; going on\n", all - left,
                               all);
  }
  ProgressBar progress(context.err, context.terminal, left);
  std::atomic<int> failed{0};
  return run_sweep(
      grid, journal,
      {.threads = arguments.threads, .on_finished = [&](std::int64_t, const RunRecord& record) {
         if (!record.is_ok()) ++failed;
         progress.advance(failed == 0 ? "runs" : fmt::format("runs, {} failed", failed.load()));
       }});
}

Status sweep(const SweepArguments& arguments, CommandContext& context) {
  const Result<SweepGrid> made = make_grid(arguments);
  RECTO_RETURN_IF_ERROR(made.status());
  const SweepGrid& grid = made.value();
  RECTO_RETURN_IF_ERROR(check_any_possible(grid));
  const std::vector<RunConfig> configs = point_configs(grid);
  RECTO_RETURN_IF_ERROR(refuse_unused(configs));
  RECTO_RETURN_IF_ERROR(refuse_idle_seeds(configs, grid.seed_count()));
  RECTO_RETURN_IF_ERROR(check_outputs(arguments, configs));
  const Result<Json> manifest = describe_sweep(grid);
  RECTO_RETURN_IF_ERROR(manifest.status());

  RECTO_RETURN_IF_ERROR(make_folder(arguments.out));
  Result<SweepJournal> journal =
      SweepJournal::open(arguments.out + "/sweep.journal.jsonl", manifest.value(),
                         arguments.is_fresh ? JournalStart::kFresh : JournalStart::kContinue);
  RECTO_RETURN_IF_ERROR(journal.status());
  const Result<std::vector<RunRecord>> records = run_all(arguments, grid, journal.value(), context);
  RECTO_RETURN_IF_ERROR(records.status());

  const std::vector<SweepPoint> points = collect_points(grid, records.value());
  RECTO_RETURN_IF_ERROR(write_results(arguments, grid, manifest.value(), points));
  context.out << sweep_table(grid, points, kTerminalColumns) << '\n';
  for (const std::string& remark : remarks_on(grid)) context.out << remark;
  context.out << rejected_points(points) << skipped_points(points)
              << fmt::format("{} points in {}/sweep.csv\n", points.size(), arguments.out);
  if (arguments.has_report) {
    RECTO_RETURN_IF_ERROR(
        write_folder_report({.folder = arguments.out, .threads = arguments.threads}, context));
  }
  return verdict(grid, points);
}

}  // namespace

void add_sweep_command(CLI::App& app, CommandContext& context) {
  auto arguments = std::make_shared<SweepArguments>();
  CLI::App* command = app.add_subcommand("sweep", "run a grid of settings on all cores, resumably");
  command->add_option("--out", arguments->out, "folder for the results, made if need be")
      ->option_text("DIR")
      ->check(check_folder_named)
      ->required();
  command->add_option("--grid", arguments->grid_path, "take base, axes and seeds from a JSON file")
      ->option_text("FILE");
  command
      ->add_option("--seeds", arguments->seeds,
                   "run each point under N seeds: means and 95 % intervals")
      ->option_text("N");
  command->add_option("--threads", arguments->threads, "runs at a time [all cores]")
      ->option_text("N")
      ->check(CLI::Range(1, 4096));
  command->add_flag("--fresh", arguments->is_fresh, "forget what an earlier sweep in DIR finished");
  command->add_flag("--report", arguments->has_report,
                    "write DIR/report.html, too: see recto report");
  arguments->flags.add_to(*command);
  command->footer("\n" + spec_help() + (kFooter + 1));
  command->callback([arguments, &context] {
    context.chosen = [arguments, &context] { return sweep(*arguments, context); };
  });
}

}  // namespace recto::experiments

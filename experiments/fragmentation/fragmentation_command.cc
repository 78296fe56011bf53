#include "experiments/support/command.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "experiments/fragmentation/fragmentation_study.h"
#include "experiments/fragmentation/fragmentation_table.h"
#include "experiments/report/report_command.h"
#include "experiments/report/study_data.h"
#include "experiments/support/manifest.h"
#include "experiments/support/numbers.h"
#include "experiments/support/output_file.h"
#include "experiments/support/parallel.h"
#include "experiments/support/remarks.h"
#include "experiments/support/run_config.h"

namespace recto::experiments {
namespace {

// The pool of the PagedAttention paper's runs of OPT-13B on an A100-40.
constexpr double kPaperPoolGib = 12;
// An hour in 10 s windows makes a file small enough to open anywhere.
constexpr double kSeriesWindowS = 10;

struct FragmentationFlags {
  RunConfig base;
  std::string allocators = "contiguous-max,contiguous-pow2,contiguous-oracle,paged,prefix-cached";
  std::string block_sizes = "8,16,32,128";
  std::string view = "states";
  std::string out;
  std::vector<std::string> maps;
  std::optional<double> map_from_s;
  int seeds = 1;
  int threads = 0;  // 0: all cores
  bool is_ascii = false;
  bool has_stamp = false;
  bool has_report = false;
};

Result<FragmentationGrid> make_grid(const FragmentationFlags& flags) {
  FragmentationGrid grid{.base = flags.base, .allocators = {}, .block_sizes = {}};
  auto allocators = split_list(flags.allocators);
  RECTO_RETURN_IF_ERROR(allocators.status().in("--allocators"));
  grid.allocators = std::move(allocators).value();
  const bool has_blocks = std::ranges::any_of(
      grid.allocators, [](const std::string& kind) { return !kind.starts_with("contiguous"); });
  if (!has_blocks && flags.block_sizes != FragmentationFlags().block_sizes) {
    return Status::invalid_input(
        fmt::format("--block-sizes {}: has no effect here: it applies to the allocators paged and "
                    "prefix-cached",
                    flags.block_sizes));
  }
  const auto sizes = split_list(flags.block_sizes);
  RECTO_RETURN_IF_ERROR(sizes.status().in("--block-sizes"));
  for (const std::string& size : sizes.value()) {
    RunConfig config;
    RECTO_RETURN_IF_ERROR(
        set_field(config, *find_run_field("block_size"), size).in("--block-sizes"));
    grid.block_sizes.push_back(config.block_size);
  }
  // The paper's pool, unless a flag that determines the pool was given.
  static constexpr std::array<std::string_view, 9> kDecisive{
      "model",    "model_file", "gpu",        "tp", "utilization", "kv_element_bytes",
      "pool_gib", "pool_slots", "pool_blocks"};
  bool is_default = true;
  for (const std::string_view name : kDecisive) {
    const RunField* field = find_run_field(name);
    is_default = is_default && field_text(grid.base, *field) == field_text(RunConfig(), *field);
  }
  if (is_default) grid.base.pool_gib = kPaperPoolGib;
  return grid;
}

std::string wall_clock() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  std::array<char, 32> text;
  return std::string(text.data(), std::strftime(text.data(), text.size(), "%FT%TZ", &utc));
}

Status write_files(const FragmentationFlags& flags, const std::vector<FragmentationRow>& rows,
                   const MapOptions& maps, CommandContext& context) {
  if (flags.out.empty()) {
    context.out << "\nNothing was written; --out DIR keeps fragmentation.csv, series.csv and "
                   "manifest.json.\n";
    return Status::ok();
  }
  Json extra = Json::object();
  if (flags.has_stamp) extra["written_at"] = wall_clock();
  RECTO_RETURN_IF_ERROR(write_fragmentation_files(rows, flags.out, extra));
  context.out << fmt::format("\nWrote fragmentation.csv, series.csv and manifest.json to {}\n",
                             flags.out);
  if (!flags.has_report) RECTO_RETURN_IF_ERROR(drop_old_page(flags.out, context));
  std::vector<FirstRun> runs;
  for (const FragmentationRow& row : rows)
    runs.push_back({row.config, row.first_report(), row.latency});
  RECTO_RETURN_IF_ERROR(write_study_data(flags.out, runs, maps, context));
  return flags.has_report ? write_folder_report({.folder = flags.out}, context) : Status::ok();
}

Status run_fragmentation(const FragmentationFlags& flags, CommandContext& context) {
  if (flags.has_report && flags.out.empty()) {
    return Status::invalid_input("--report: found no --out; expected the folder of the report");
  }
  const Result<FragmentationGrid> grid = make_grid(flags);
  RECTO_RETURN_IF_ERROR(grid.status());
  const Result<std::vector<RunConfig>> configs = expand(grid.value());
  RECTO_RETURN_IF_ERROR(configs.status());
  RECTO_RETURN_IF_ERROR(refuse_idle_seeds(configs.value(), flags.seeds));
  const int threads = flags.threads > 0 ? flags.threads : default_threads();
  Result<std::vector<std::string>> map_rows = split_lists(flags.maps);
  RECTO_RETURN_IF_ERROR(map_rows.status().in("--maps"));
  const MapOptions maps{std::move(map_rows).value(), flags.map_from_s, threads};
  RECTO_RETURN_IF_ERROR(check_map_rows(maps, configs.value()));
  if (!flags.out.empty()) {
    for (const char* file :
         {"/fragmentation.csv", "/series.csv", "/manifest.json", "/report.html", "/report.json"}) {
      RECTO_RETURN_IF_ERROR(
          check_no_input(flags.out + file, input_files(grid.value().base)).in("--out"));
    }
    RECTO_RETURN_IF_ERROR(check_own_folder(flags.out, "fragmentation").in("--out"));
    RECTO_RETURN_IF_ERROR(check_overwrites_only(kDataFile, data_file_in(flags.out)).in("--out"));
    if (flags.has_report) RECTO_RETURN_IF_ERROR(check_page_place(flags.out));
    RECTO_RETURN_IF_ERROR(try_folder(flags.out).in("--out"));
  }
  Result<std::vector<FragmentationRow>> rows = std::vector<FragmentationRow>();
  {
    ProgressBar progress(context.err, context.terminal,
                         configs.value().size() * static_cast<std::size_t>(flags.seeds));
    rows = run_all(configs.value(),
                   {.seeds = flags.seeds, .threads = threads, .done = [&](const RunConfig& config) {
                      progress.advance(label_of(config));
                    }});
  }
  RECTO_RETURN_IF_ERROR(rows.status());
  Terminal terminal = context.terminal;
  if (flags.is_ascii) terminal.charset = Charset::kAscii;
  const FragmentationView view =
      flags.view == "paper" ? FragmentationView::kPaper : FragmentationView::kStates;
  context.out << fragmentation_text(rows.value(), view, terminal);
  RECTO_RETURN_IF_ERROR(write_files(flags, rows.value(), maps, context));
  // Some allocators may serve no request; if no allocator serves any, the study is a mistake.
  Status served;
  for (const FragmentationRow& row : rows.value()) {
    served = check_any_served(row.first_report());
    if (served.is_ok()) break;
  }
  return served;
}

void add_grid_flags(Command& command, FragmentationFlags& flags) {
  const OptionGroup grid{command, "Grid"};
  grid.add("--allocators LIST", any_text(flags.allocators),
           "allocators to compare [contiguous-max, -pow2, -oracle,\npaged, prefix-cached]")
      .value.known = known_values(*find_run_field("allocator"));
  grid.add("--block-sizes LIST", any_text(flags.block_sizes),
           fmt::format("block sizes of paged allocators [{}]", flags.block_sizes));
  grid.add("--seeds N", integer(flags.seeds, {1, 10'000}),
           "run each with N seeds, from --seed on: means and\n95 % intervals [1]");
}

void add_output_flags(Command& command, FragmentationFlags& flags) {
  const OptionGroup output{command, "Output"};
  output.add("--view states|paper", one_of(flags.view, {"states", "paper"}),
             "states, or the paper's Fig. 2 [states]");
  output.add("--out DIR", nonempty_text(flags.out, "a folder"),
             "write fragmentation.csv, series.csv, manifest.json and\nreport.json, the data of "
             "figures and pages, here");
  output
      .add("--maps LIST", any_text(flags.maps),
           "rows with a memory map, such as 'paged 16'\n[one of each allocator]")
      .needs = {"--out"};
  output
      .add("--map-from-s S", number(flags.map_from_s, {0, 1e9}),
           "where maps begin to show single blocks\n[shortly before the longest queue]")
      .needs = {"--out"};
  output.add("--ascii", flag(flags.is_ascii), "draw bars without block characters");
  output.add("--report", flag(flags.has_report), "write DIR/report.html, too: see recto report");
  output.add("--stamp", flag(flags.has_stamp), "put the time of day into the manifest");
  output.add("--threads N", integer(flags.threads, {1, 4096}), "simulations at a time [all cores]");
}

}  // namespace

Command fragmentation_command() {
  Command command("fragmentation",
                  "where every KV slot goes: allocators x block sizes on one workload");
  auto flags = std::make_shared<FragmentationFlags>();
  flags->base.series_window_s = kSeriesWindowS;
  add_grid_flags(command, *flags);
  add_output_flags(command, *flags);
  static constexpr std::array<std::string_view, 2> kTakenFromGrid{"allocator", "block_size"};
  add_run_flags(command, flags->base, kTakenFromGrid);
  command.footer =
      spec_help() +
      "The pool: 12 GiB, as in the PagedAttention paper, for the default model and card; else "
      "what\n"
      "the card has room for, or --pool-gib, --pool-slots, --pool-blocks.\n\n"
      "Examples:\n"
      "  recto fragmentation\n"
      "  recto fragmentation --view paper --allocators contiguous-max,paged --block-sizes 16\n"
      "  recto fragmentation --trace azure.csv --model Llama-3.1-8B --gpu H100 --out results\n"
      "  recto fragmentation --workload chat --block-sizes 1,16,256 --max-length 4096 \\\n"
      "      --model Llama-2-7B --gpu A100-80\n";
  command.run = [flags](CommandContext& context) { return run_fragmentation(*flags, context); };
  return command;
}

}  // namespace recto::experiments

#include "experiments/report/report_command.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "experiments/report/data_file.h"
#include "experiments/report/located_inputs.h"
#include "experiments/report/report_page.h"
#include "experiments/report/results_folder.h"
#include "experiments/report/study_data.h"
#include "experiments/support/manifest.h"
#include "experiments/support/numbers.h"
#include "experiments/support/output_file.h"
#include "experiments/support/parallel.h"

namespace recto::experiments {
namespace {

constexpr FileKind kPage{.mark = kReportPageMark, .name = "a page of recto report"};

constexpr const char* kFooter = R"(
DIR is what `recto fragmentation --out DIR` or `recto sweep --out DIR` has written; both make the
page at once with --report. A study's runs are made once more, for what its files do not hold.

Examples:
  recto fragmentation --out study && recto report study
  recto report study --html page.html --maps "contiguous-max,paged 32" --map-from-s 600
)";

std::string page_in(const std::string& folder) { return folder + "/report.html"; }

Result<Json> data_of(const ResultsFolder& folder, const ReportFlags& flags,
                     CommandContext& context) {
  if (folder.is_sweep) {
    if (flags.maps.empty() && !flags.map_from_s) return sweep_data(folder);
    return Status::invalid_input(
        fmt::format("--maps, --map-from-s: found the sweep {}; expected a study, which has maps",
                    flags.folder));
  }
  ProgressBar progress(context.err, context.terminal, folder.configs.size());
  return fragmentation_data(folder,
                            {.threads = flags.threads > 0 ? flags.threads : default_threads(),
                             .maps = flags.maps,
                             .map_from_s = flags.map_from_s,
                             .done = [&](const std::string& label) { progress.advance(label); }});
}

// A study is run again with the files that its manifest names; a page must not replace any of them.
Status prepare_inputs(ResultsFolder& folder, const std::string& page) {
  RECTO_RETURN_IF_ERROR(locate_inputs(folder.manifest, folder.path, folder.configs));
  for (const RunConfig& config : folder.configs) {
    RECTO_RETURN_IF_ERROR(check_no_input(page, input_files(config)).in("--html"));
  }
  return Status::ok();
}

}  // namespace

Command report_command() {
  Command command("report", "results as one HTML page, to be opened from disk");
  auto flags = std::make_shared<ReportFlags>();
  command.add("folder DIR", nonempty_text(flags->folder, "a folder"),
              "with results of recto fragmentation or recto sweep");
  command.add("--html FILE", nonempty_text(flags->page, "a file"),
              "write the page here [DIR/report.html]");
  command.add("--maps LIST", any_text(flags->maps),
              "rows with a memory map, such as 'paged 16'\n[one of each allocator]");
  command.add("--map-from-s S", number(flags->map_from_s, {0, 1e9}),
              "where maps begin to tell single blocks\n[shortly before the longest queue]");
  command.add("--threads N", integer(flags->threads, {1, 4096}),
              "simulations at a time [all cores]");
  command.footer = kFooter;
  command.run = [flags](CommandContext& context) {
    ReportFlags of_run = *flags;
    const Result<std::vector<std::string>> maps = split_lists(flags->maps);
    RECTO_RETURN_IF_ERROR(store(maps, of_run.maps).in("--maps"));
    return write_folder_report(of_run, context);
  };
  return command;
}

Status write_folder_report(const ReportFlags& flags, CommandContext& context) {
  Result<ResultsFolder> read = read_results_folder(flags.folder);
  RECTO_RETURN_IF_ERROR(read.status());
  ResultsFolder& folder = read.value();
  const std::string page = flags.page.empty() ? page_in(flags.folder) : flags.page;
  if (!folder.is_sweep) RECTO_RETURN_IF_ERROR(prepare_inputs(folder, page));
  RECTO_RETURN_IF_ERROR(check_overwrites_only(kPage, page).in("--html"));
  const std::string beside = flags.page.empty() ? data_file_in(flags.folder) : "";
  RECTO_RETURN_IF_ERROR(check_overwrites_only(kDataFile, beside));
  const Result<Json> data = data_of(folder, flags, context);
  RECTO_RETURN_IF_ERROR(data.status());
  for (const Json& note : data.value()["notes"]) {
    context.err << fmt::format("recto: {}\n", note.get<std::string>());
  }
  const std::string text = report_page(data.value(), folder.manifest);
  RECTO_RETURN_IF_ERROR(write_file(page, text));
  if (!beside.empty()) {
    const Result<std::string> kept = data_file_text(flags.folder, data.value());
    RECTO_RETURN_IF_ERROR(kept.status());
    RECTO_RETURN_IF_ERROR(write_file(beside, kept.value()));
  }
  context.out << fmt::format("Wrote {} ({}): open it in a browser\n", page,
                             bytes_text(static_cast<double>(text.size())));
  return Status::ok();
}

Status check_page_place(const std::string& folder) {
  RECTO_RETURN_IF_ERROR(check_overwrites_only(kPage, page_in(folder)).in("--report"));
  return check_overwrites_only(kDataFile, data_file_in(folder)).in("--report");
}

Status drop_old_page(const std::string& folder, CommandContext& context) {
  const std::string page = page_in(folder);
  const std::string data = data_file_in(folder);
  std::error_code error;
  if (is_file_of(kDataFile, data)) std::filesystem::remove(data, error);
  if (!error && is_file_of(kPage, page) && std::filesystem::remove(page, error)) {
    context.out << fmt::format("Removed {}, which told of an earlier run; --report makes it anew\n",
                               page);
  }
  if (!error) return Status::ok();
  return Status::failed(page + ": tells of an earlier run, cannot remove it: " + error.message());
}

}  // namespace recto::experiments

#include "experiments/report/folder_report.h"

#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

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

std::string page_in(const std::string& folder) { return folder + "/report.html"; }

Result<Json> data_of(const ResultsFolder& folder, const FolderReportFlags& flags,
                     CommandContext& context) {
  if (folder.kind == ResultsKind::kSweep) {
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

}  // namespace

Status write_folder_report(const FolderReportFlags& flags, CommandContext& context) {
  const Result<ResultsFolder> folder = read_results_folder(flags.folder);
  RECTO_RETURN_IF_ERROR(folder.status());
  const std::string page = flags.page.empty() ? page_in(flags.folder) : flags.page;
  std::vector<std::string> inputs;
  for (const RunConfig& config : folder.value().configs) {
    for (const std::string& file : input_files(config)) inputs.push_back(file);
  }
  RECTO_RETURN_IF_ERROR(check_no_input(page, inputs).in("--html"));
  RECTO_RETURN_IF_ERROR(check_overwrites_only(kPage, page).in("--html"));
  const Result<Json> data = data_of(folder.value(), flags, context);
  RECTO_RETURN_IF_ERROR(data.status());
  for (const Json& note : data.value()["notes"]) {
    context.err << fmt::format("recto: {}\n", note.get<std::string>());
  }
  const std::string text = report_page(data.value(), folder.value().manifest);
  RECTO_RETURN_IF_ERROR(write_file(page, text));
  context.out << fmt::format("Wrote {} ({}): open it in a browser\n", page,
                             bytes_text(static_cast<double>(text.size())));
  return Status::ok();
}

Status check_page_place(const std::string& folder) {
  return check_overwrites_only(kPage, page_in(folder)).in("--report");
}

Status drop_old_page(const std::string& folder, CommandContext& context) {
  const std::string page = page_in(folder);
  if (!is_file_of(kPage, page)) return Status::ok();
  std::error_code error;
  if (std::filesystem::remove(page, error)) {
    context.out << fmt::format("Removed {}, which told of an earlier run; --report makes it anew\n",
                               page);
  }
  if (!error) return Status::ok();
  return Status::failed(page + ": tells of an earlier run, cannot remove it: " + error.message());
}

}  // namespace recto::experiments

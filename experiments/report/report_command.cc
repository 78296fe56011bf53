#include "experiments/report/report_command.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "experiments/report/report_page.h"
#include "experiments/report/results_folder.h"
#include "experiments/report/study_data.h"
#include "experiments/support/manifest.h"
#include "experiments/support/numbers.h"
#include "experiments/support/output_file.h"

namespace recto::experiments {
namespace {

constexpr FileKind kPage{.mark = kReportPageMark, .name = "a page of recto report"};

constexpr const char* kFooter = R"(
DIR is what `recto fragmentation --out DIR` or `recto sweep --out DIR` has written; both make the
page at once with --report.

Examples:
  recto fragmentation --out study && recto report study
  recto report study --html page.html
)";

std::string page_in(const std::string& folder) { return folder + "/report.html"; }

// The folder's results, and the data that their page shows.
struct PageData {
  ResultsFolder folder;
  Json data;
};

Result<PageData> read_page_data(const std::string& path) {
  Result<ResultsFolder> folder = read_results_folder(path);
  RECTO_RETURN_IF_ERROR(folder.status());
  Result<Json> data = folder.value().is_sweep ? sweep_data(folder.value()) : read_data_file(path);
  RECTO_RETURN_IF_ERROR(data.status());
  const std::string before = folder.value().commit();
  if (before != commit()) {
    data.value()["notes"].push_back(fmt::format(
        "The results come from recto of commit {}, this page of commit {}: its numbers were not "
        "computed again.",
        before.empty() ? "unknown" : before, commit()));
  }
  return PageData{std::move(folder).value(), std::move(data).value()};
}

}  // namespace

Command report_command() {
  Command command("report", "results as one HTML page, to be opened from disk");
  auto flags = std::make_shared<ReportFlags>();
  command.add("folder DIR", nonempty_text(flags->folder, "a folder"),
              "with results of recto fragmentation or recto sweep");
  command.add("--html FILE", nonempty_text(flags->page, "a file"),
              "write the page here [DIR/report.html]");
  command.footer = kFooter;
  command.run = [flags](CommandContext& context) { return write_folder_report(*flags, context); };
  return command;
}

Status write_folder_report(const ReportFlags& flags, CommandContext& context) {
  const Result<PageData> read = read_page_data(flags.folder);
  RECTO_RETURN_IF_ERROR(read.status());
  const auto& [folder, data] = read.value();
  const std::string page = flags.page.empty() ? page_in(flags.folder) : flags.page;
  RECTO_RETURN_IF_ERROR(check_overwrites_only(kPage, page).in("--html"));
  const bool has_data = folder.is_sweep && flags.page.empty();
  if (has_data) RECTO_RETURN_IF_ERROR(check_overwrites_only(kDataFile, data_file_in(flags.folder)));
  for (const Json& note : data["notes"]) {
    context.err << fmt::format("recto: {}\n", note.get<std::string>());
  }
  const std::string text = report_page(data, folder.manifest);
  RECTO_RETURN_IF_ERROR(write_file(page, text));
  if (has_data) RECTO_RETURN_IF_ERROR(write_data_file(flags.folder, data));
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
    context.out << fmt::format(
        "Removed {}, which belonged to an earlier run; --report writes it again\n", page);
  }
  if (!error) return Status::ok();
  return Status::failed(page + ": belongs to an earlier run, cannot remove it: " + error.message());
}

}  // namespace recto::experiments

#include "experiments/support/command.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "experiments/report/folder_report.h"
#include "experiments/support/numbers.h"

namespace recto::experiments {
namespace {

constexpr const char* kFooter = R"(
DIR is what `recto fragmentation --out DIR` or `recto sweep --out DIR` has written; both make the
page at once with --report. A study's runs are made once more, for what its files do not hold.

Examples:
  recto fragmentation --out study && recto report study
  recto report study --html page.html --maps "contiguous-max,paged 32" --map-from-s 600
)";

Status run_report(FolderReportFlags flags, CommandContext& context) {
  Result<std::vector<std::string>> maps = split_lists(flags.maps);
  RECTO_RETURN_IF_ERROR(maps.status().in("--maps"));
  flags.maps = std::move(maps).value();
  return write_folder_report(flags, context);
}

}  // namespace

Command report_command() {
  Command command("report", "results as one HTML page, to be opened from disk");
  auto flags = std::make_shared<FolderReportFlags>();
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
  command.run = [flags](CommandContext& context) { return run_report(*flags, context); };
  return command;
}

}  // namespace recto::experiments

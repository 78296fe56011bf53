#include "experiments/report/report_command.h"

#include <memory>
#include <string>
#include <vector>

#include "experiments/report/folder_report.h"
#include "experiments/support/text_values.h"
#include "experiments/support/usage_error.h"

namespace recto::experiments {
namespace {

constexpr const char* kFooter = R"(
DIR is what `recto fragmentation --out DIR` or `recto sweep --out DIR` has written; both make the
page at once with --report. A study's runs are made once more, for what its files do not hold.

Examples:
  recto fragmentation --out study && recto report study
  recto report study --html page.html --maps "contiguous-max,paged 32" --map-from-s 600
)";

}  // namespace

void add_report_command(CLI::App& app, CommandContext& context) {
  CLI::App* command =
      app.add_subcommand("report", "results as one HTML page, to be opened from disk");
  auto flags = std::make_shared<FolderReportFlags>();
  command->add_option("folder", flags->folder, "with results of recto fragmentation or recto sweep")
      ->option_text("DIR")
      ->check(check_folder_named)
      ->required();
  command->add_option("--html", flags->page, "write the page here [DIR/report.html]")
      ->option_text("FILE")
      ->check(check_file_named);
  command
      ->add_option("--maps", flags->maps,
                   "rows with a memory map, such as 'paged 16'\n[one of each allocator]")
      ->option_text("LIST")
      ->allow_extra_args(false);  // DIR may follow
  command
      ->add_option("--map-from-s", flags->map_from_s,
                   "where maps begin to tell single blocks\n[shortly before the longest queue]")
      ->option_text("S")
      ->check(number_within(0, 1e9));
  command->add_option("--threads", flags->threads, "simulations at a time [all cores]")
      ->option_text("N")
      ->check(CLI::Range(1, 4096));
  command->footer(kFooter);
  command->callback([flags, &context] {
    context.chosen = [flags, &context]() -> Status {
      const Result<std::vector<std::string>> maps = split_lists(flags->maps);
      RECTO_RETURN_IF_ERROR(maps.status().in("--maps"));
      flags->maps = maps.value();
      return write_folder_report(*flags, context);
    };
  });
}

}  // namespace recto::experiments

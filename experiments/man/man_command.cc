#include "experiments/man/man_command.h"

#include <string>

#include "experiments/man/man_page.h"
#include "experiments/support/command_outline.h"
#include "experiments/support/version.h"

namespace recto::experiments {
namespace {

constexpr const char* kFooter = R"(
Examples:
  recto man > recto.1 && man -l recto.1
  recto man > ~/.local/share/man/man1/recto.1)";

}  // namespace

void add_man_command(CLI::App& app, CommandContext& context) {
  CLI::App* command = app.add_subcommand("man", "the manual page, to be shown by man -l");
  command->footer(kFooter);
  command->callback([&app, &context] {
    context.chosen = [&app, &context] {
      context.out << man_page(outline_of(app),
                              {.version = app.get_name() + " " + kVersion, .day = commit_day()});
      return Status::ok();
    };
  });
}

}  // namespace recto::experiments

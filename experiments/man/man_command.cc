#include "experiments/support/command.h"

#include <string>

#include "experiments/man/man_page.h"
#include "experiments/support/manifest.h"

namespace recto::experiments {
namespace {

constexpr const char* kFooter = R"(
Examples:
  recto man > recto.1 && man -l recto.1
  recto man > ~/.local/share/man/man1/recto.1)";

}  // namespace

Command man_command() {
  Command command("man", "the manual page, to be shown by man -l");
  command.footer = kFooter;
  command.run = [](CommandContext& context) {
    context.out << man_page(
        context.program, {.version = context.program.name + " " + kVersion, .day = commit_day()});
    return Status::ok();
  };
  return command;
}

}  // namespace recto::experiments

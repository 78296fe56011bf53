#include "experiments/support/command_line.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <new>
#include <string>

#include "core/status.h"
#include "experiments/support/callers_folder.h"
#include "experiments/support/terminal.h"
#include "experiments/support/usage_error.h"
#include "experiments/support/version.h"

namespace recto::experiments {
namespace {

constexpr std::size_t kHelpColumn = 32;

// CLI11 2.5 and later would re-wrap the lines of the examples like those of a paragraph.
template <typename Formatter>
void shape_help(Formatter& formatter) {
  formatter.column_width(kHelpColumn);
  if constexpr (requires { formatter.enable_footer_formatting(false); }) {
    formatter.enable_footer_formatting(false);
  }
}

// A message quotes the contents of files and arguments, which may hold terminal control characters.
std::string without_control_characters(std::string text) {
  std::ranges::replace_if(
      text, [](unsigned char c) { return c != '\n' && c != '\t' && std::iscntrl(c) != 0; }, '?');
  return text;
}

int report(const Program& program, const Status& status) {
  if (!status.is_ok()) {
    std::cerr << program.name << ": " << without_control_characters(status.message()) << '\n';
  }
  return exit_code(status);
}

// Printed output may still not have been written. It may also be lost before: who starts a process
// flushes stdout.
int finish_output(const Program& program, int code) {
  const bool was_lost = std::ferror(stdout) != 0;
  std::cout.flush();
  if (std::cout.good() && !was_lost) return code;
  const std::string why = std::cout.good() ? "it was not written in whole" : std::strerror(errno);
  report(program, Status::failed("standard output: " + why));
  return code == 0 ? EXIT_FAILURE : code;
}

// CLI11 would only say that a subcommand is required.
Status check_command(const CLI::App& app, int argc, char** argv) {
  if (argc > 1 && argv[1][0] == '-') return Status::ok();
  std::string names;
  for (const CLI::App* command : app.get_subcommands(nullptr)) {
    if (argc > 1 && command->get_name() == argv[1]) return Status::ok();
    names += (names.empty() ? "" : ", ") + command->get_name();
  }
  const std::string found = argc > 1 ? "'" + std::string(argv[1]) + "'" : "no command";
  return Status::invalid_input("found " + found + "; expected one of " + names + "; " +
                               app.get_name() + " --help explains them");
}

// No run can continue without memory, whichever thread ran out of it.
const char* name_out_of_memory = "";

void end_out_of_memory() {
  for (const char* const part : {name_out_of_memory, ": out of memory\n"})
    if (write(STDERR_FILENO, part, std::strlen(part)) < 0) break;
  _exit(EXIT_FAILURE);
}

}  // namespace

int run_program(const Program& program, int argc, char** argv) {
  name_out_of_memory = program.name;
  std::set_new_handler(end_out_of_memory);
  enter_callers_folder();
  CLI::App app(program.about);
  app.name(program.name);
  app.require_subcommand(1);
  shape_help(*app.get_formatter());
  app.set_version_flag("--version", [&program] {
    return std::string(program.name) + " " + kVersion + ", commit " + commit();
  });
  app.footer(program.footer);
  CommandContext context{std::cout, std::cerr, detect_terminal(), nullptr, program.name};
  program.add_commands(app, context);
  const Status known = check_command(app, argc, argv);
  if (!known.is_ok()) return report(program, known);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // Asking for help is no error.
    if (error.get_exit_code() == 0) return finish_output(program, app.exit(error));
    return report(program, usage_error(app, error));
  }
  if (program.why_not_run != nullptr) {
    const auto ended = program.why_not_run(*app.get_subcommands().front(), context);
    if (ended) return finish_output(program, *ended);
  }
  return finish_output(program, report(program, context.chosen()));
}

}  // namespace recto::experiments

// The command line. Each subcommand lives in a folder of its own; see
// experiments/support/command.h.

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <new>
#include <string>
#include <string_view>

#include "core/status.h"
#include "experiments/cases/cases_command.h"
#include "experiments/check/check_command.h"
#include "experiments/completion/completion_command.h"
#include "experiments/fragmentation/fragmentation_command.h"
#include "experiments/generate/generate_command.h"
#include "experiments/man/man_command.h"
#include "experiments/mutants/mutants_command.h"
#include "experiments/numerics/numerics_command.h"
#include "experiments/plan/plan_command.h"
#include "experiments/plot/plot_command.h"
#include "experiments/replay/replay_command.h"
#include "experiments/report/report_command.h"
#include "experiments/simulate/simulate_command.h"
#include "experiments/support/callers_folder.h"
#include "experiments/support/command.h"
#include "experiments/support/terminal.h"
#include "experiments/support/usage_error.h"
#include "experiments/support/version.h"
#include "experiments/sweep/sweep_command.h"
#include "experiments/trace/trace_command.h"
#include "experiments/verify/verify_command.h"

namespace {

using recto::Status;
using recto::experiments::CommandContext;
using recto::experiments::exit_code;

constexpr std::size_t kHelpColumn = 32;

// CLI11 2.5 and later would fill the lines of the examples like those of a paragraph.
template <typename Formatter>
void shape_help(Formatter& formatter) {
  formatter.column_width(kHelpColumn);
  if constexpr (requires { formatter.enable_footer_formatting(false); }) {
    formatter.enable_footer_formatting(false);
  }
}

int report(const Status& status) {
  if (!status.is_ok()) std::cerr << "recto: " << status.message() << '\n';
  return exit_code(status);
}

// What was printed may still not have arrived.
int finish_output(int code) {
  std::cout.flush();
  if (std::cout.good()) return code;
  return report(Status::failed(std::string("standard output: ") + std::strerror(errno)));
}

void add_commands(CLI::App& app, CommandContext& context) {
  recto::experiments::add_fragmentation_command(app, context);
  recto::experiments::add_simulate_command(app, context);
  recto::experiments::add_sweep_command(app, context);
  recto::experiments::add_report_command(app, context);
  recto::experiments::add_trace_command(app, context);
  recto::experiments::add_plan_command(app, context);
  recto::experiments::add_plot_command(app, context);
  recto::experiments::add_numerics_command(app, context);
  recto::experiments::add_verify_command(app, context);
  recto::experiments::add_replay_command(app, context);
  recto::experiments::add_cases_command(app, context);
  recto::experiments::add_check_command(app, context);
  recto::experiments::add_generate_command(app, context);
  recto::experiments::add_mutants_command(app, context);
  recto::experiments::add_completion_command(app, context);
  recto::experiments::add_man_command(app, context);
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
  return Status::invalid_input("found " + found + "; expected one of " + names +
                               "; recto --help explains them");
}

int run_command_line(int argc, char** argv) {
  CLI::App app(
      "Paged attention: where each slot of a KV cache goes, and whether kernels are right.");
  app.name("recto");
  app.require_subcommand(1);
  shape_help(*app.get_formatter());
  app.set_version_flag("--version", [] {
    return std::string("recto ") + recto::experiments::kVersion + ", commit " +
           recto::experiments::commit();
  });
  app.footer(
      "Each command explains itself: recto COMMAND --help\n\n"
      "Examples:\n"
      "  recto fragmentation\n"
      "  recto simulate --workload chat --allocator prefix-cached\n"
      "  recto verify --kernel libmine.so\n"
      "\nExit codes: 0 done, 1 the run failed, 2 bad usage or bad input.\n");
  CommandContext context{std::cout, std::cerr, recto::experiments::detect_terminal(), nullptr};
  add_commands(app, context);
  const Status known = check_command(app, argc, argv);
  if (!known.is_ok()) return report(known);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // Asking for help is no error.
    if (error.get_exit_code() == 0) return finish_output(app.exit(error));
    return report(recto::experiments::usage_error(app, error));
  }
  const Status status = context.chosen();
  return status.is_ok() ? finish_output(0) : report(status);
}

}  // namespace

int main(int argc, char** argv) {
  // No run can go on without memory, on whichever thread it ran out.
  std::set_new_handler([] {
    static constexpr std::string_view kMessage = "recto: out of memory\n";
    if (write(STDERR_FILENO, kMessage.data(), kMessage.size()) < 0) _exit(EXIT_FAILURE);
    _exit(EXIT_FAILURE);
  });
  recto::experiments::enter_callers_folder();
  return run_command_line(argc, argv);
}

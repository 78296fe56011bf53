// The command line. Each subcommand lives in a folder of its own; see
// experiments/support/command.h.

#include "experiments/completion/completion_command.h"
#include "experiments/fragmentation/fragmentation_command.h"
#include "experiments/man/man_command.h"
#include "experiments/plan/plan_command.h"
#include "experiments/plot/plot_command.h"
#include "experiments/report/report_command.h"
#include "experiments/simulate/simulate_command.h"
#include "experiments/support/command_line.h"
#include "experiments/sweep/sweep_command.h"
#include "experiments/trace/trace_command.h"

namespace recto::experiments {
namespace {

void add_commands(CLI::App& app, CommandContext& context) {
  add_fragmentation_command(app, context);
  add_simulate_command(app, context);
  add_sweep_command(app, context);
  add_report_command(app, context);
  add_trace_command(app, context);
  add_plan_command(app, context);
  add_plot_command(app, context);
  add_completion_command(app, context);
  add_man_command(app, context);
}

constexpr Program kProgram = {
    .name = "recto",
    .about = "Paged attention: where each slot of a KV cache goes, and whether kernels are right.",
    .footer =
        "Each command explains itself: recto COMMAND --help\n\n"
        "Examples:\n"
        "  recto fragmentation\n"
        "  recto simulate --workload chat --allocator prefix-cached\n"
        "  recto verify --kernel libmine.so\n"
        "\nExit codes: 0 done, 1 the run failed, 2 bad usage or bad input.\n",
    .add_commands = add_commands};

}  // namespace
}  // namespace recto::experiments

int main(int argc, char** argv) {
  return recto::experiments::run_program(recto::experiments::kProgram, argc, argv);
}

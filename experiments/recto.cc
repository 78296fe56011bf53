// The command line. Each command has its own folder; see experiments/support/command.h.

#include <algorithm>
#include <iterator>

#include "experiments/kernel_commands.h"
#include "experiments/support/command.h"
#include "experiments/support/program.h"

namespace recto::experiments {
namespace {

Command recto_program() {
  Command program(
      "recto",
      "Paged attention: where each slot of a KV cache goes, and whether kernels are right.");
  program.footer =
      "Each command explains itself: recto COMMAND --help\n\n"
      "Examples:\n"
      "  recto fragmentation\n"
      "  recto simulate --workload chat --allocator prefix-cached\n"
      "  recto verify --kernel libmine.so\n"
      "\nExit codes: 0 done, 1 the run failed, 2 bad usage or bad input.\n";
  program.commands = {fragmentation_command(), simulate_command(), sweep_command(),
                      report_command(),        trace_command(),    plan_command(),
                      plot_command()};
  std::ranges::move(kernel_commands(), std::back_inserter(program.commands));
  program.commands.push_back(completion_command());
  program.commands.push_back(man_command());
  return program;
}

}  // namespace
}  // namespace recto::experiments

int main(int argc, char** argv) {
  return recto::experiments::run_program(recto::experiments::recto_program(), argc, argv);
}

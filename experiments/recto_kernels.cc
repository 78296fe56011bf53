// The commands of recto that judge kernels: a program of its own, which `recto` finds beside itself.

#include "experiments/cases/cases_command.h"
#include "experiments/check/check_command.h"
#include "experiments/generate/generate_command.h"
#include "experiments/mutants/mutants_command.h"
#include "experiments/numerics/numerics_command.h"
#include "experiments/replay/replay_command.h"
#include "experiments/support/command_line.h"
#include "experiments/verify/verify_command.h"

namespace recto::experiments {
namespace {

void add_commands(CLI::App& app, CommandContext& context) {
  add_numerics_command(app, context);
  add_verify_command(app, context);
  add_replay_command(app, context);
  add_cases_command(app, context);
  add_check_command(app, context);
  add_generate_command(app, context);
  add_mutants_command(app, context);
}

constexpr Program kProgram = {
    .name = "recto",
    .about = "Whether paged attention is right: the commands of recto that judge kernels.",
    .footer = "",
    .add_commands = add_commands};

}  // namespace
}  // namespace recto::experiments

int main(int argc, char** argv) {
  return recto::experiments::run_program(recto::experiments::kProgram, argc, argv);
}

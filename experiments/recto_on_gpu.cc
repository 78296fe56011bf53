// The commands that run kernels, with the kernels as compiled for a GPU.

#include "experiments/generate/generate_command.h"
#include "experiments/replay/replay_command.h"
#include "experiments/support/command_line.h"
#include "experiments/verify/verify_command.h"
#include "verify/kernels/device_call.h"

namespace recto::experiments {
namespace {

constexpr int kNoGpuExitCode = 3;  // as for benchmarks

// Flags of runs that only show something, and launch nothing.
constexpr const char* kOnlyShown[] = {"--list", "--print-config"};

void add_commands(CLI::App& app, CommandContext& context) {
  add_verify_command(app, context);
  add_replay_command(app, context);
  add_generate_command(app, context);
}

std::optional<int> why_not_run(const CLI::App& command, CommandContext& context) {
  for (const char* const name : kOnlyShown) {
    const CLI::Option* const flag = command.get_option_no_throw(name);
    if (flag != nullptr && flag->count() > 0) return std::nullopt;
  }
  const std::optional<std::string> why = verify::why_no_gpu();
  if (!why) return std::nullopt;
  context.out << "no GPU: " << *why << '\n';
  return kNoGpuExitCode;
}

constexpr Program kProgram = {
    .name = "recto_on_gpu",
    .about =
        "Whether paged attention is right on this machine's GPU: the commands of recto that "
        "run kernels.",
    .footer =
        "Each command explains itself: recto_on_gpu COMMAND --help\n\n"
        "Examples:\n"
        "  recto_on_gpu verify --backend gpu --cases 100\n"
        "  recto_on_gpu generate\n"
        "\nExit codes: 0 done, 1 the run failed, 2 bad usage or bad input, 3 no GPU.\n",
    .add_commands = add_commands,
    .why_not_run = why_not_run};

}  // namespace
}  // namespace recto::experiments

int main(int argc, char** argv) {
  return recto::experiments::run_program(recto::experiments::kProgram, argc, argv);
}

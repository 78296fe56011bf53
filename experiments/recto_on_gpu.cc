// The commands that run kernels, with the kernels as compiled for a GPU.

#include <optional>
#include <string>

#include "experiments/support/command.h"
#include "experiments/support/program.h"
#include "verify/kernels/device_call.h"

namespace recto::experiments {
namespace {

constexpr int kNoGpuExitCode = 3;  // as for benchmarks

// Flags of runs that only print, and launch nothing.
constexpr const char* kOnlyShown[] = {"--list", "--print-config"};

std::optional<int> why_not_run(CommandContext& context) {
  for (const char* const name : kOnlyShown)
    if (context.is_given(name)) return std::nullopt;
  const std::optional<std::string> why = verify::why_no_gpu();
  if (!why) return std::nullopt;
  context.out << "no GPU: " << *why << '\n';
  return kNoGpuExitCode;
}

Command recto_on_gpu_program() {
  Command program("recto_on_gpu",
                  "Whether paged attention is right on this machine's GPU: the commands of recto "
                  "that run kernels.");
  program.footer =
      "Each command explains itself: recto_on_gpu COMMAND --help\n\n"
      "Examples:\n"
      "  recto_on_gpu verify --backend gpu --cases 100\n"
      "  recto_on_gpu generate\n"
      "\nExit codes: 0 done, 1 the run failed, 2 bad usage or bad input, 3 no GPU.\n";
  program.commands = {verify_command(), replay_command(), generate_command()};
  return program;
}

}  // namespace
}  // namespace recto::experiments

int main(int argc, char** argv) {
  using namespace recto::experiments;
  return run_program(recto_on_gpu_program(), argc, argv, why_not_run);
}

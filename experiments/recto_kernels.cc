// The commands of recto that judge kernels: a program that `recto` finds in its own folder.
//
//   recto_kernels --commands > experiments/kernel_commands.json      # after a change of their help

#include <iostream>
#include <string_view>
#include <utility>

#include "experiments/support/command.h"
#include "experiments/support/program.h"

int main(int argc, char** argv) {
  using namespace recto::experiments;
  Command program("recto", "Whether paged attention is right.");
  program.commands = {numerics_command(), verify_command(), replay_command(),   cases_command(),
                      check_command(),    oracle_command(), generate_command(), ptx_command()};
  if (argc == 2 && std::string_view(argv[1]) == "--commands") {
    std::cout << recto::json_text(commands_json(program.commands), 1) << '\n';
    return 0;
  }
  return run_program(std::move(program), argc, argv);
}

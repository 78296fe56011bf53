#include "experiments/support/command.h"

#include <memory>
#include <string>

#include "experiments/completion/completion_scripts.h"

namespace recto::experiments {
namespace {

constexpr const char* kFooter = R"(
Examples:
  source <(recto completion bash)
  recto completion zsh > "${fpath[1]}/_recto"
  recto completion fish > ~/.config/fish/completions/recto.fish)";

std::string script_of(const std::string& shell, const Command& program) {
  if (shell == "bash") return bash_completion(program);
  return shell == "zsh" ? zsh_completion(program) : fish_completion(program);
}

}  // namespace

Command completion_command() {
  auto shell = std::make_shared<std::string>();
  Command command("completion", "a script that completes commands, flags and names");
  command.add("SHELL", one_of(*shell, {"bash", "zsh", "fish"}), "bash, zsh or fish");
  command.footer = kFooter;
  command.run = [shell](CommandContext& context) {
    context.out << script_of(*shell, context.program);
    return Status::ok();
  };
  return command;
}

}  // namespace recto::experiments

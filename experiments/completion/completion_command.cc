#include "experiments/completion/completion_command.h"

#include <memory>
#include <string>

#include "experiments/completion/completion_scripts.h"
#include "experiments/support/command_outline.h"

namespace recto::experiments {
namespace {

constexpr const char* kFooter = R"(
Examples:
  source <(recto completion bash)
  recto completion zsh > "${fpath[1]}/_recto"
  recto completion fish > ~/.config/fish/completions/recto.fish)";

std::string script_of(const std::string& shell, const CommandOutline& program) {
  if (shell == "bash") return bash_completion(program);
  return shell == "zsh" ? zsh_completion(program) : fish_completion(program);
}

}  // namespace

void add_completion_command(CLI::App& app, CommandContext& context) {
  auto shell = std::make_shared<std::string>();
  CLI::App* command =
      app.add_subcommand("completion", "a script that completes commands, flags and names");
  command->add_option("SHELL", *shell, "bash, zsh or fish")
      ->required()
      ->option_text(" ")
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  command->footer(kFooter);
  command->callback([shell, &app, &context] {
    context.chosen = [shell, &app, &context] {
      context.out << script_of(*shell, outline_of(app));
      return Status::ok();
    };
  });
}

}  // namespace recto::experiments

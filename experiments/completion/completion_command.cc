// Scripts with which a shell completes commands, flags, names and files without calling the
// program.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/support/command.h"

namespace recto::experiments {
namespace {

// The part that all programs share; @ stands for the program's name.
constexpr std::string_view kBegin = R"(# bash completion, as `@ completion bash` prints it.

# Words that begin as what was typed does.
_@_words() { mapfile -t COMPREPLY < <(compgen -W "$1" -- "$current"); }

# Of a list by commas, the last item.
_@_list() {
  local head=
  [[ $current != *,* ]] || head=${current%,*},
  mapfile -t COMPREPLY < <(compgen -P "$head" -W "$1" -- "${current##*,}")
  compopt -o nospace
}

_@_paths() {
  compopt -o filenames
  mapfile -t COMPREPLY < <(compgen "$1" -- "$current")
}

_@() {
  local current=${COMP_WORDS[COMP_CWORD]} flag= command=
  COMPREPLY=()
  ((COMP_CWORD < 2)) || command=${COMP_WORDS[1]} flag=${COMP_WORDS[COMP_CWORD - 1]}
  # bash cuts --flag=value into three words.
  if [[ $current == = ]]; then
    current=
  elif [[ $flag == = ]]; then
    flag=${COMP_WORDS[COMP_CWORD - 2]}
  fi
)";

std::string with_name(std::string_view text, const std::string& name) {
  std::string made;
  for (const char letter : text) letter == '@' ? made += name : made += letter;
  return made;
}

// The call that completes the value of an option; ":" if the user chooses it freely.
std::string bash_value(const Option& option) {
  if (option.kind() == ValueKind::kFile) return "_@_paths -f";
  if (option.kind() == ValueKind::kFolder) return "_@_paths -d";
  if (option.value.known.empty()) return ":";
  return fmt::format("_@_{} '{}'", option.is_list() ? "list" : "words",
                     fmt::join(option.value.known, " "));
}

std::string bash_values(const Command& command) {
  std::string cases;
  for (const Option& option : command.options) {
    if (option.kind() == ValueKind::kNone || option.is_positional()) continue;
    for (const std::string& flag : option.flags) {
      cases += fmt::format("    '{} {}') {}; return ;;\n", command.name, flag, bash_value(option));
    }
  }
  return cases;
}

std::string flags_of(const Command& command) {
  std::vector<std::string> flags;
  for (const Option& option : command.options) {
    if (!option.is_positional()) flags.push_back(option.flags.back());
  }
  return fmt::format("{}", fmt::join(flags, " "));
}

// If no flag is waiting for its value: flags, or the argument that the command takes.
std::string bash_word(const Command& command) {
  std::string argument;
  for (const Option& option : command.options) {
    if (option.is_positional()) {
      argument = fmt::format("[[ $current == -* ]] || {{ {}; return; }}; ", bash_value(option));
    }
  }
  return fmt::format("    {}) {}_@_words '{}' ;;\n", command.name, argument, flags_of(command));
}

// For bash 4.4 and later, with or without the package bash-completion.
std::string bash_completion(const Command& program) {
  std::string values = "  case \"$command $flag\" in\n";
  std::string words = "  case $command in\n";
  std::string names;
  for (const Command& command : program.commands) {
    values += bash_values(command);
    words += bash_word(command);
    names += command.name + " ";
  }
  words += fmt::format("    '') _@_words '{}{}' ;;\n", names, flags_of(program));
  const std::string script =
      std::string(kBegin) + values + "  esac\n" + words + "  esac\n}\n\ncomplete -F _@ @\n";
  return with_name(script, program.name);
}

std::string fish_quoted(std::string_view text) {
  std::string made = "'";
  for (const char letter : text) {
    if (letter == '\'' || letter == '\\') made += '\\';
    made += letter;
  }
  return made + "'";
}

std::string fish_value(const Option& option) {
  if (option.kind() == ValueKind::kNone) return "";
  if (option.kind() == ValueKind::kFile) return " -r -F";
  if (option.kind() == ValueKind::kFolder) return " -x -a '(__fish_complete_directories)'";
  if (option.value.known.empty()) return " -x";
  const std::string values = fmt::format("{}", fmt::join(option.value.known, " "));
  return fmt::format(" -x -a '{}'", option.is_list() ? "(__fish_append , " + values + ")" : values);
}

// `condition` says where the option may be used.
std::string fish_line(const std::string& program, const std::string& condition,
                      const Option& option) {
  std::string names;
  for (const std::string& flag : option.flags) {
    names += flag.starts_with("--") ? " -l " + flag.substr(2) : " -s " + flag.substr(1);
  }
  // A positional argument is not a flag's value, so files are offered without one.
  std::string value = fish_value(option);
  if (option.is_positional() && option.kind() == ValueKind::kFile) value = " -F";
  return fmt::format("complete -c {} -n '{}'{}{} -d {}\n", program, condition, names, value,
                     fish_quoted(option.help_line()));
}

// For fish 3 and later.
std::string fish_completion(const Command& program) {
  std::string script =
      fmt::format("# fish completion, as `{0} completion fish` prints it.\n\ncomplete -c {0} -f\n",
                  program.name);
  for (const Option& option : program.options) {
    script += fish_line(program.name, "__fish_use_subcommand", option);
  }
  for (const Command& command : program.commands) {
    script += fmt::format("\ncomplete -c {} -n __fish_use_subcommand -a {} -d {}\n", program.name,
                          command.name, fish_quoted(command.about));
    for (const Option& option : command.options) {
      script += fish_line(program.name, "__fish_seen_subcommand_from " + command.name, option);
    }
  }
  return script;
}

// Escapes text inside single quotes, within a field that these characters would end.
std::string zsh_escaped(std::string_view text) {
  std::string made;
  for (const char letter : text) {
    if (letter == '\'') {
      made += R"('\'')";
      continue;
    }
    if (std::string_view("[]:\\").find(letter) != std::string_view::npos) made += '\\';
    made += letter;
  }
  return made;
}

std::string zsh_action(const Option& option) {
  if (option.kind() == ValueKind::kFile) return "_files";
  if (option.kind() == ValueKind::kFolder) return "_files -/";
  if (option.value.known.empty()) return "";
  const std::string values = fmt::format("{}", fmt::join(option.value.known, " "));
  return option.is_list() ? "_values -s , value " + values : "(" + values + ")";
}

std::string zsh_argument(const Option& option) {
  const std::string value =
      option.value_name.empty()
          ? ""
          : fmt::format(":{}:{}", zsh_escaped(option.value_name), zsh_action(option));
  if (option.is_positional()) return fmt::format(" \\\n        '1{}'", value);
  std::string made;
  for (const std::string& flag : option.flags) {
    const bool takes_equals = !value.empty() && flag.starts_with("--");
    made += fmt::format(" \\\n        '{}{}[{}]{}'", flag, takes_equals ? "=" : "",
                        zsh_escaped(option.help_line()), value);
  }
  return made;
}

std::string zsh_arguments(const Command& command) {
  std::string made = "_arguments";
  for (const Option& option : command.options) made += zsh_argument(option);
  return made;
}

std::string zsh_completion(const Command& program) {
  std::string names;
  std::string cases;
  for (const Command& command : program.commands) {
    names += fmt::format("    '{}:{}'\n", command.name, zsh_escaped(command.about));
    cases += fmt::format("    {})\n      {} ;;\n", command.name, zsh_arguments(command));
  }
  return fmt::format(R"(#compdef {0}
# zsh completion, as `{0} completion zsh` prints it.

_{0}() {{
  local -a commands=(
{1}  )
  if ((CURRENT == 2)); then
    _describe command commands
    {2}
    return
  fi
  shift words
  ((CURRENT--))
  case $words[1] in
{3}  esac
}}

if [[ $funcstack[1] == _{0} ]]; then _{0} "$@"; else compdef _{0} {0}; fi
)",
                     program.name, names, zsh_arguments(program), cases);
}

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

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <string_view>
#include <vector>

#include "experiments/completion/completion_scripts.h"

namespace recto::experiments {
namespace {

// What all programs share; @ stands for the name of this one.
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
std::string value_call(const Option& option) {
  if (option.kind() == ValueKind::kFile) return "_@_paths -f";
  if (option.kind() == ValueKind::kFolder) return "_@_paths -d";
  if (option.value.known.empty()) return ":";
  return fmt::format("_@_{} '{}'", option.is_list() ? "list" : "words",
                     fmt::join(option.value.known, " "));
}

std::string value_cases(const Command& command) {
  std::string cases;
  for (const Option& option : command.options) {
    if (option.kind() == ValueKind::kNone || option.is_positional()) continue;
    for (const std::string& flag : option.flags) {
      cases += fmt::format("    '{} {}') {}; return ;;\n", command.name, flag, value_call(option));
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
std::string word_case(const Command& command) {
  std::string argument;
  for (const Option& option : command.options) {
    if (option.is_positional()) {
      argument = fmt::format("[[ $current == -* ]] || {{ {}; return; }}; ", value_call(option));
    }
  }
  return fmt::format("    {}) {}_@_words '{}' ;;\n", command.name, argument, flags_of(command));
}

}  // namespace

std::string bash_completion(const Command& program) {
  std::string values = "  case \"$command $flag\" in\n";
  std::string words = "  case $command in\n";
  std::string names;
  for (const Command& command : program.commands) {
    values += value_cases(command);
    words += word_case(command);
    names += command.name + " ";
  }
  words += fmt::format("    '') _@_words '{}{}' ;;\n", names, flags_of(program));
  const std::string script =
      std::string(kBegin) + values + "  esac\n" + words + "  esac\n}\n\ncomplete -F _@ @\n";
  return with_name(script, program.name);
}

}  // namespace recto::experiments

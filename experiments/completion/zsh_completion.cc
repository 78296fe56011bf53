#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <string_view>

#include "experiments/completion/completion_scripts.h"

namespace recto::experiments {
namespace {

// Escapes text inside single quotes, within a part that these characters would end.
std::string escaped(std::string_view text) {
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

std::string action_of(const Option& option) {
  if (option.kind() == ValueKind::kFile) return "_files";
  if (option.kind() == ValueKind::kFolder) return "_files -/";
  if (option.value.known.empty()) return "";
  const std::string values = fmt::format("{}", fmt::join(option.value.known, " "));
  return option.is_list() ? "_values -s , value " + values : "(" + values + ")";
}

std::string argument_of(const Option& option) {
  const std::string value =
      option.value_name.empty()
          ? ""
          : fmt::format(":{}:{}", escaped(option.value_name), action_of(option));
  if (option.is_positional()) return fmt::format(" \\\n        '1{}'", value);
  std::string made;
  for (const std::string& flag : option.flags) {
    const bool takes_equals = !value.empty() && flag.starts_with("--");
    made += fmt::format(" \\\n        '{}{}[{}]{}'", flag, takes_equals ? "=" : "",
                        escaped(option.help_line()), value);
  }
  return made;
}

std::string arguments_of(const Command& command) {
  std::string made = "_arguments";
  for (const Option& option : command.options) made += argument_of(option);
  return made;
}

}  // namespace

std::string zsh_completion(const Command& program) {
  std::string names;
  std::string cases;
  for (const Command& command : program.commands) {
    names += fmt::format("    '{}:{}'\n", command.name, escaped(command.about));
    cases += fmt::format("    {})\n      {} ;;\n", command.name, arguments_of(command));
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
                     program.name, names, arguments_of(program), cases);
}

}  // namespace recto::experiments

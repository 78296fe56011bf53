#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <string_view>

#include "experiments/completion/completion_scripts.h"

namespace recto::experiments {
namespace {

std::string in_quotes(std::string_view text) {
  std::string made = "'";
  for (const char letter : text) {
    if (letter == '\'' || letter == '\\') made += '\\';
    made += letter;
  }
  return made + "'";
}

std::string value_of(const Option& option) {
  if (option.kind() == ValueKind::kNone) return "";
  if (option.kind() == ValueKind::kFile) return " -r -F";
  if (option.kind() == ValueKind::kFolder) return " -x -a '(__fish_complete_directories)'";
  if (option.value.known.empty()) return " -x";
  const std::string values = fmt::format("{}", fmt::join(option.value.known, " "));
  return fmt::format(" -x -a '{}'", option.is_list() ? "(__fish_append , " + values + ")" : values);
}

// `condition` says where the option may be used.
std::string line_of(const std::string& program, const std::string& condition,
                    const Option& option) {
  std::string names;
  for (const std::string& flag : option.flags) {
    names += flag.starts_with("--") ? " -l " + flag.substr(2) : " -s " + flag.substr(1);
  }
  // A positional argument is not a flag's value, so files are offered without one.
  std::string value = value_of(option);
  if (option.is_positional() && option.kind() == ValueKind::kFile) value = " -F";
  return fmt::format("complete -c {} -n '{}'{}{} -d {}\n", program, condition, names, value,
                     in_quotes(option.help_line()));
}

}  // namespace

std::string fish_completion(const Command& program) {
  std::string script =
      fmt::format("# fish completion, as `{0} completion fish` prints it.\n\ncomplete -c {0} -f\n",
                  program.name);
  for (const Option& option : program.options) {
    script += line_of(program.name, "__fish_use_subcommand", option);
  }
  for (const Command& command : program.commands) {
    script += fmt::format("\ncomplete -c {} -n __fish_use_subcommand -a {} -d {}\n", program.name,
                          command.name, in_quotes(command.about));
    for (const Option& option : command.options) {
      script += line_of(program.name, "__fish_seen_subcommand_from " + command.name, option);
    }
  }
  return script;
}

}  // namespace recto::experiments

#include "experiments/support/command_line.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

// CLI11 divides the words among the options, and lays out the help. This file checks values and
// combinations of options, so that messages are the same for every version of CLI11.

namespace recto::experiments {
namespace {

using Names = std::vector<std::string>;

constexpr std::size_t kHelpColumn = 32;

bool has(const Names& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

bool exclude_each_other(const Option& one, const Option& other) {
  return has(one.excludes, other.name) || has(other.excludes, one.name);
}

// CLI11 2.5 and later would re-wrap the lines of the examples like those of a paragraph.
template <typename Formatter>
void shape_help(Formatter& formatter) {
  formatter.column_width(kHelpColumn);
  if constexpr (requires { formatter.enable_footer_formatting(false); }) {
    formatter.enable_footer_formatting(false);
  }
}

// The text that the help shows after the names of an option.
std::string text_after(const Option& option, const Command& command) {
  if (option.value_name == option.name) return " ";
  if (!option.value_name.empty()) return option.value_name;
  std::string excluded;
  for (const Option& other : command.options)
    if (exclude_each_other(option, other)) excluded += " " + other.name;
  return excluded.empty() ? "" : "Excludes:" + excluded;
}

void add_option(CLI::App& app, const Option& option, const Command& command) {
  const std::string names =
      option.is_positional() ? option.name : fmt::format("{}", fmt::join(option.flags, ","));
  CLI::Option* const added = option.value_name.empty()
                                 ? app.add_flag(names, option.help)
                                 : app.add_option(names, CLI::callback_t(), option.help);
  added->option_text(text_after(option, command))
      ->group(option.group)
      ->required(option.is_positional())  // for the usage line
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void describe(CLI::App& app, const Command& command) {
  app.set_help_flag();  // --help is among the options
  app.allow_extras();
  app.footer(command.footer);
  for (const Option& option : command.options) add_option(app, option, command);
  for (const Command& below : command.commands)
    describe(*app.add_subcommand(below.name, below.about), below);
}

Status no_command(const Command& program, const std::string& found) {
  Names names;
  for (const Command& command : program.commands) names.push_back(command.name);
  return Status::invalid_input(fmt::format("found {}; expected one of {}; {} --help explains them",
                                           found, fmt::join(names, ", "), program.name));
}

Status check_first(const Command& program, const Names& words) {
  if (words.empty()) return no_command(program, "no command");
  const std::string& first = words.front();
  const bool is_known = std::ranges::count(program.commands, first, &Command::name) > 0;
  if (is_known || first.starts_with('-')) return Status::ok();
  return no_command(program, "'" + first + "'");
}

// Passes the words to CLI11. Missing options are reported later.
Status divide(CLI::App& app, Names words) {
  std::ranges::reverse(words);  // as CLI11 takes them
  try {
    app.parse(std::move(words));
  } catch (const CLI::RequiredError&) {
  } catch (const CLI::ArgumentMismatch& error) {  // "FLAG: ..."
    const std::string text = error.what();
    return Status::invalid_input(text.substr(0, text.find(':')) + ": found none; expected a value");
  } catch (const CLI::ParseError& error) {
    return Status::invalid_input(error.what());
  }
  return Status::ok();
}

Status take_values(const CLI::App& app, const Command& command) {
  for (const Option& option : command.options) {
    const Names texts = app.get_option(option.name)->results();
    for (const std::string& text : texts)
      if (option.value.take) RECTO_RETURN_IF_ERROR(option.value.take(text).in(option.name));
    if (texts.size() > 1 && option.value.take && !option.value.may_repeat)
      return Status::invalid_input(option.name + ": found twice; expected it once");
  }
  return Status::ok();
}

// The description of the option's value in the help, or else its permitted values.
std::string expected_of(const Option& option) {
  if (option.value_name != option.name) return option.value_name;
  const Names& known = option.value.known;
  return known.empty() ? "a value" : fmt::format("one of {}", fmt::join(known, ", "));
}

Status check_together(const Command& command, const Names& given) {
  for (const Option& option : command.options) {
    const bool is_given = has(given, option.name);
    if (option.is_required && !is_given) {
      return Status::invalid_input(fmt::format("{}: found none; expected {}; {} --help explains it",
                                               option.name, expected_of(option), command.name));
    }
    if (!is_given) continue;
    for (const std::string& needed : option.needs) {
      if (!has(given, needed))
        return Status::invalid_input(fmt::format("{} requires {}", option.name, needed));
    }
    for (const Option& other : command.options) {
      if (exclude_each_other(option, other) && has(given, other.name))
        return Status::invalid_input(fmt::format("{} excludes {}", option.name, other.name));
    }
  }
  return Status::ok();
}

// The flag that was most likely meant: the one with the longest common prefix with `text`.
std::optional<std::string> similar_flag(const Command& command, const std::string& text) {
  constexpr std::size_t kAlike = 5;  // characters, including dashes
  std::optional<std::string> best;
  std::size_t most = kAlike - 1;
  for (const Option& option : command.options) {
    for (const std::string& flag : option.flags) {
      const auto parted = std::ranges::mismatch(flag, text);
      const auto alike = static_cast<std::size_t>(parted.in1 - flag.begin());
      const bool is_whole = parted.in1 == flag.end() || parted.in2 == text.end();
      if (alike + (is_whole ? 1 : 0) > most) {
        best = flag;
        most = alike;
      }
    }
  }
  return best;
}

bool is_flag(const std::string& text) { return text.starts_with("-") && text.size() > 1; }

// `left` has the words that no option took.
Status check_left(const Command& command, const Names& left) {
  if (left.empty()) return Status::ok();
  const std::string help = fmt::format("; {} --help lists the flags", command.name);
  const auto flag = std::ranges::find_if(left, is_flag);
  if (flag == left.end()) {
    return Status::invalid_input(
        fmt::format("found '{}'; expected only flags{}", left.front(), help));
  }
  const std::string name = flag->substr(0, flag->find('='));
  const std::optional<std::string> similar = similar_flag(command, name);
  return Status::invalid_input(fmt::format(
      "{}: no such flag{}", name, similar ? fmt::format("; did you mean {}?", *similar) : help));
}

}  // namespace

Result<ParsedLine> parse_command_line(const Command& program, std::vector<std::string> words) {
  RECTO_RETURN_IF_ERROR(check_first(program, words));
  CLI::App app(program.about, program.name);
  app.require_subcommand(1);
  shape_help(*app.get_formatter());
  describe(app, program);
  RECTO_RETURN_IF_ERROR(divide(app, std::move(words)));

  ParsedLine line{.command = &program};
  const CLI::App* chosen = &app;
  if (!app.get_subcommands().empty()) {
    chosen = app.get_subcommands().front();
    line.command = &*std::ranges::find(program.commands, chosen->get_name(), &Command::name);
  }
  for (const CLI::Option* option : chosen->parse_order()) line.given.push_back(option->get_name());
  if (!program.version.empty() && app.count("--version") > 0)
    return ParsedLine{.text = program.version + "\n"};
  RECTO_RETURN_IF_ERROR(take_values(*chosen, *line.command));
  if (app.count("--help") > 0 || chosen->count("--help") > 0)
    return ParsedLine{.text = app.help()};  // of the chosen command
  RECTO_RETURN_IF_ERROR(check_together(*line.command, line.given));
  Names left = app.remaining(/*recurse=*/true);
  std::erase(left, "--");
  if (chosen == &app && std::ranges::none_of(left, is_flag))
    return no_command(program, "no command");
  RECTO_RETURN_IF_ERROR(check_left(*line.command, left));
  return line;
}

}  // namespace recto::experiments

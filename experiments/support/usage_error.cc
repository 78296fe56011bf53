#include "experiments/support/usage_error.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <functional>
#include <optional>
#include <regex>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "experiments/support/offered_values.h"

namespace recto::experiments {
namespace {

bool is_flag(const std::string& text) { return text.starts_with("-") && text.size() > 1; }

// The flag that was most likely meant: the one that shares the longest beginning with `text`.
std::optional<std::string> similar_flag(const CLI::App& command, const std::string& text) {
  constexpr std::size_t kAlike = 5;  // of characters, dashes among them
  std::optional<std::string> best;
  std::size_t most = kAlike - 1;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      const std::string flag = "--" + name;
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

std::string unknown_argument(const CLI::App& command) {
  const std::vector<std::string> left = command.remaining(true);
  const auto flag = std::ranges::find_if(left, is_flag);
  const std::string help = fmt::format("; {} --help lists the flags", command.get_name());
  if (flag == left.end()) {
    return fmt::format("found '{}'; expected flags alone", left.empty() ? "" : left.front()) + help;
  }
  const std::string name = flag->substr(0, flag->find('='));
  const std::optional<std::string> similar = similar_flag(command, name);
  return fmt::format("{}: no such flag{}", name,
                     similar ? fmt::format("; did you mean {}?", *similar) : help);
}

// "0.000000" as "0".
std::string plain_number(const std::string& text) {
  double value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  return read.ptr == text.data() + text.size() ? fmt::format("{}", value) : text;
}

// FLAG: Value TEXT not in range LOW to HIGH
std::optional<std::string> out_of_range(const std::string& text) {
  std::smatch match;
  static const std::regex kForm("([^:]+): Value ([^]*) not in range (\\S+) to (\\S+)");
  if (!std::regex_match(text, match, kForm)) return std::nullopt;
  const bool is_whole = match.str(3).find('.') == std::string::npos;
  return fmt::format("{}: found '{}'; expected {} from {} to {}", match.str(1), match.str(2),
                     is_whole ? "an integer" : "a number", plain_number(match.str(3)),
                     plain_number(match.str(4)));
}

// FLAG: TEXT not in {ONE,OTHER}
std::optional<std::string> none_of_set(const std::string& text) {
  std::smatch match;
  static const std::regex kForm("([^:]+): ([^]*) not in \\{([^}]*)\\}");
  if (!std::regex_match(text, match, kForm)) return std::nullopt;
  const std::string names = std::regex_replace(match.str(3), std::regex(","), ", ");
  return fmt::format("{}: found '{}'; expected one of {}", match.str(1), match.str(2), names);
}

// Could not convert: FLAG = TEXT
std::optional<std::string> no_number(const std::string& text) {
  std::smatch match;
  static const std::regex kForm("Could not convert: (\\S+) = ([^]*)");
  if (!std::regex_match(text, match, kForm)) return std::nullopt;
  return fmt::format("{}: found '{}'; expected a number", match.str(1), match.str(2));
}

// What help says of its value; where that is blank, the values that it takes.
std::string expected_of(const CLI::Option& option) {
  const std::string& text = option.get_option_text();
  if (text.find_first_not_of(' ') != std::string::npos) return text;
  const std::vector<std::string> values = offered_values(option);
  return values.empty() ? "a value" : fmt::format("one of {}", fmt::join(values, ", "));
}

// FLAG is required
std::optional<std::string> missing(const std::string& text, const CLI::App& command) {
  constexpr std::string_view kEnd = " is required";
  if (!text.ends_with(kEnd)) return std::nullopt;
  const std::string name = text.substr(0, text.size() - kEnd.size());
  const CLI::Option* const option = command.get_option_no_throw(name);
  return fmt::format("{}: found none; expected {}; {} --help tells of it", name,
                     option == nullptr ? "a value" : expected_of(*option), command.get_name());
}

}  // namespace

Status usage_error(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<CLI::App*> chosen = app.get_subcommands();
  const CLI::App& command = chosen.empty() ? app : *chosen.front();
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) {
    return Status::invalid_input(unknown_argument(command));
  }
  const std::string text = error.what();
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
    const std::string flag = text.substr(0, text.find(':'));
    const CLI::Option* const option = command.get_option_no_throw(flag);
    const bool is_twice = option != nullptr && option->results().size() > 1;
    return Status::invalid_input(
        fmt::format("{}: {}", flag,
                    is_twice ? "found twice; expected it once" : "found none; expected a value"));
  }
  std::optional<std::string> told = out_of_range(text);
  if (!told) told = none_of_set(text);
  if (!told) told = no_number(text);
  if (!told) told = missing(text, command);
  return Status::invalid_input(told.value_or(text));
}

std::string check_folder_named(const std::string& text) {
  return text.empty() ? "found ''; expected a folder" : "";
}

std::string check_file_named(const std::string& text) {
  return text.empty() ? "found ''; expected a file" : "";
}

std::string check_whole_number(const std::string& text) {
  std::uint64_t value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (read.ec == std::errc() && read.ptr == text.data() + text.size()) return "";
  return fmt::format("found '{}'; expected an integer of at least 0", text);
}

std::function<std::string(const std::string& text)> number_within(double min, double max) {
  return [min, max](const std::string& text) -> std::string {
    double value = 0;
    const bool is_number = CLI::detail::lexical_cast(text, value);
    // Written so that a NaN fails.
    if (is_number && value >= min && value <= max) return "";
    return fmt::format("found '{}'; expected a number from {} to {}", text, min, max);
  };
}

}  // namespace recto::experiments

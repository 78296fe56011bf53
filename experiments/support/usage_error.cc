#include "experiments/support/usage_error.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

namespace recto::experiments {
namespace {

bool is_flag(const std::string& text) { return text.starts_with("-") && text.size() > 1; }

// The flag that was most likely meant: one begins as the other does, as far as it goes.
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
  return Status::invalid_input(text);
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

}  // namespace recto::experiments

#include "experiments/support/command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <utility>

namespace recto::experiments {
namespace {

Json option_json(const Option& option) {
  return {{"flags", option.flags},           {"name", option.name},
          {"value_name", option.value_name}, {"help", option.help},
          {"known", option.value.known},     {"group", option.group},
          {"excludes", option.excludes},     {"is_required", option.is_required}};
}

Option option_of(const Json& json) {
  using Texts = std::vector<std::string>;
  Option option;
  option.flags = json["flags"].get<Texts>();
  option.name = json["name"].get<std::string>();
  option.value_name = json["value_name"].get<std::string>();
  option.help = json["help"].get<std::string>();
  option.value.known = json["known"].get<Texts>();
  option.group = json["group"].get<std::string>();
  option.excludes = json["excludes"].get<Texts>();
  option.is_required = json["is_required"].get<bool>();
  return option;
}

}  // namespace

OptionValue flag(bool& target) {
  return {.take =
              [&target](const std::string& text) {
                if (text != "true" && text != "false") return found_other(text, "no value");
                target = text == "true";
                return Status::ok();
              },
          .may_repeat = true};
}

OptionValue without_empty(OptionValue value, const std::string& expected) {
  value.take = [take = std::move(value.take), expected](const std::string& text) {
    return text.empty() ? found_other(text, expected) : take(text);
  };
  return value;
}

OptionValue one_of(std::string& target, const std::vector<std::string>& names) {
  return {.take =
              [&target, names](const std::string& text) {
                if (std::ranges::find(names, text) == names.end())
                  return found_other(text, fmt::format("one of {}", fmt::join(names, ", ")));
                target = text;
                return Status::ok();
              },
          .known = names};
}

OptionValue integer(std::uint64_t& target) {
  return {.take = [&target](const std::string& text) { return store(parse_uint64(text), target); }};
}

OptionValue integers(std::vector<std::int64_t>& target, CountRange range) {
  return {.take =
              [&target, range](const std::string& text) {
                for (const std::string& item : split(text, ','))
                  RECTO_RETURN_IF_ERROR(store(parse_number(item, range), target.emplace_back()));
                return Status::ok();
              },
          .may_repeat = true};
}

bool Option::is_list() const { return value_name == "LIST" || value_name.ends_with(",..."); }

ValueKind Option::kind() const {
  if (value_name.empty()) return ValueKind::kNone;
  if (value_name.starts_with("FILE")) return ValueKind::kFile;
  return value_name == "DIR" ? ValueKind::kFolder : ValueKind::kText;
}

std::string Option::help_line() const {
  std::string line = help;
  std::ranges::replace(line, '\n', ' ');
  return line;
}

Command::Command(std::string command_name, std::string command_about)
    : name(std::move(command_name)), about(std::move(command_about)) {
  add("-h,--help", {}, "Print this help message and exit");
}

Option& Command::add(std::string_view names, OptionValue value, std::string help) {
  const std::size_t space = std::min(names.find(' '), names.size());
  Option& option = options.emplace_back();
  option.value_name = names.substr(std::min(space + 1, names.size()));
  option.help = std::move(help);
  option.value = std::move(value);
  std::vector<std::string> flags = split(names.substr(0, space), ',');
  option.name = flags.back();
  if (names.starts_with('-')) {
    option.flags = std::move(flags);
  } else {
    option.is_required = true;
    if (option.value_name.empty()) option.value_name = option.name;
  }
  return option;
}

Option& OptionGroup::add(std::string_view names, OptionValue value, std::string help) const {
  Option& option = command.add(names, std::move(value), std::move(help));
  option.group = heading;
  return option;
}

bool CommandContext::is_given(std::string_view option_name) const {
  return std::ranges::find(given, option_name) != given.end();
}

int exit_code(const Status& status) {
  switch (status.code()) {
    case StatusCode::kOk:
      return 0;
    case StatusCode::kInvalidInput:
      return 2;
    case StatusCode::kExhausted:
    case StatusCode::kFailed:
      return 1;
  }
  return 1;
}

Json commands_json(const std::vector<Command>& commands) {
  Json list = Json::array();
  for (const Command& command : commands) {
    Json options = Json::array();
    for (const Option& option : command.options) options.push_back(option_json(option));
    list.push_back({{"name", command.name},
                    {"about", command.about},
                    {"footer", command.footer},
                    {"options", options}});
  }
  return list;
}

std::vector<Command> commands_of(const Json& json, const std::string& program) {
  std::vector<Command> commands;
  for (const Json& item : json) {
    Command& command =
        commands.emplace_back(item["name"].get<std::string>(), item["about"].get<std::string>());
    command.footer = item["footer"].get<std::string>();
    command.program = program;
    command.options.clear();  // --help is among those that were written
    for (const Json& option : item["options"]) command.options.push_back(option_of(option));
  }
  return commands;
}

}  // namespace recto::experiments

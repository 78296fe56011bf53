#include "experiments/support/command_json.h"

#include <string>

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

#include "experiments/support/command_outline.h"

#include <algorithm>

#include "experiments/support/offered_values.h"

namespace recto::experiments {
namespace {

ValueKind kind_of(const std::string& value_name) {
  if (value_name.empty()) return ValueKind::kNone;
  if (value_name.starts_with("FILE")) return ValueKind::kFile;
  return value_name == "DIR" ? ValueKind::kFolder : ValueKind::kText;
}

std::string value_name_of(const CLI::Option& option) {
  if (option.get_items_expected_max() == 0) return "";
  const std::string text = CLI::detail::trim_copy(option.get_option_text());
  return text.empty() ? option.get_name(/*positional=*/true) : text;
}

OptionOutline outline_of(const CLI::Option& option) {
  OptionOutline outline;
  for (const std::string& name : option.get_snames()) outline.flags.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) outline.flags.push_back("--" + name);
  outline.value_name = value_name_of(option);
  outline.help = option.get_description();
  std::ranges::replace(outline.help, '\n', ' ');
  outline.group = option.get_group();
  outline.values = offered_values(option);
  outline.kind = kind_of(outline.value_name);
  outline.is_list = outline.value_name == "LIST" || outline.value_name.ends_with(",...");
  return outline;
}

}  // namespace

CommandOutline outline_of(const CLI::App& app) {
  CommandOutline outline{app.get_name(), app.get_description(), app.get_footer(), {}, {}};
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_group().empty()) outline.options.push_back(outline_of(*option));
  }
  for (const CLI::App* command : app.get_subcommands(nullptr)) {
    outline.commands.push_back(outline_of(*command));
  }
  return outline;
}

}  // namespace recto::experiments

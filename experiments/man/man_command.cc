#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/support/command.h"
#include "experiments/support/manifest.h"

namespace recto::experiments {
namespace {

// Escapes text for roff, so that it has no escapes, no hyphens in place of dashes, and no requests
// at the start of a line.
std::string text_of(std::string_view text) {
  std::string made;
  bool begins_line = true;
  for (const char letter : text) {
    if (begins_line && (letter == '.' || letter == '\'')) made += "\\&";
    if (letter == '\\') {
      made += "\\e";
    } else if (letter == '-') {
      made += "\\-";
    } else {
      made += letter;
    }
    begins_line = letter == '\n';
  }
  return made;
}

// The same in lines of up to 80 bytes if words allow it, as checkers of manual pages require. The
// page shows them as one paragraph.
std::string filled(const std::string& text) {
  constexpr std::size_t kLineMax = 80;
  std::string made;
  std::string line;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const std::string longer = line.empty() ? word : line + " " + word;
    if (!line.empty() && text_of(longer).size() > kLineMax) {
      made += text_of(line) + "\n";
      line = word;
    } else {
      line = longer;
    }
  }
  return made + text_of(line);
}

std::string upper(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::toupper(c); });
  return text;
}

std::string flags_of(const Option& option) {
  std::string made;
  for (const std::string& flag : option.flags) {
    made += fmt::format("{}\\fB{}\\fR", made.empty() ? "" : ", ", text_of(flag));
  }
  if (option.value_name.empty()) return made;
  return fmt::format("{}{}\\fI{}\\fR", made, made.empty() ? "" : " ", text_of(option.value_name));
}

// Groups in the order in which they first appear.
std::vector<std::string> groups_of(const Command& command) {
  std::vector<std::string> groups;
  for (const Option& option : command.options) {
    if (std::ranges::find(groups, option.group) == groups.end()) groups.push_back(option.group);
  }
  return groups;
}

std::string options_of(const Command& command) {
  std::string made;
  for (const std::string& group : groups_of(command)) {
    made += fmt::format("{}{}:\n", made.empty() ? "" : ".PP\n", text_of(group));
    for (const Option& option : command.options) {
      if (option.group != group) continue;
      made += fmt::format(".TP\n{}\n{}\n", flags_of(option), filled(option.help_line()));
    }
  }
  return made;
}

// Unchanged, line by line.
std::string verbatim(const std::string& text) {
  const std::size_t begin = std::min(text.find_first_not_of('\n'), text.size());
  const std::size_t end = text.find_last_not_of('\n');
  if (begin == text.size()) return "";
  return fmt::format(".nf\n{}\n.fi\n", text_of(text.substr(begin, end + 1 - begin)));
}

std::string section_of(const Command& program, const Command& command) {
  std::string synopsis = fmt::format("\\fB{} {}\\fR", text_of(program.name), text_of(command.name));
  for (const Option& option : command.options) {
    if (option.is_positional()) synopsis += " " + flags_of(option);
  }
  const std::string footer = verbatim(command.footer);
  return fmt::format(".SS {} {}\n{} [\\fIoption\\fR ...]\n.PP\n{}.\n.PP\n{}{}{}",
                     text_of(program.name), text_of(command.name), synopsis, filled(command.about),
                     options_of(command), footer.empty() ? "" : ".PP\n", footer);
}

// The manual page, section 1, in the macros of man(7).
std::string man_page(const Command& program) {
  std::string about = program.about;
  if (about.ends_with('.')) about.pop_back();
  std::string page = fmt::format(
      ".TH {} 1 \"{}\" \"{}\" \"User Commands\"\n.nh\n.ad l\n.SH NAME\n{}\n.SH SYNOPSIS\n"
      "\\fB{}\\fR \\fIcommand\\fR [\\fIoption\\fR ...]\n.SH OPTIONS\n",
      upper(program.name), commit_day(), text_of(program.name + " " + kVersion),
      filled(program.name + " - " + about), program.name);
  page += options_of(program);
  page += ".SH COMMANDS\n";
  for (const Command& command : program.commands) page += section_of(program, command);
  return page + ".SH NOTES\n" + verbatim(program.footer);
}

constexpr const char* kFooter = R"(
Examples:
  recto man > recto.1 && man -l recto.1
  recto man > ~/.local/share/man/man1/recto.1)";

}  // namespace

Command man_command() {
  Command command("man", "the manual page, to be shown by man -l");
  command.footer = kFooter;
  command.run = [](CommandContext& context) {
    context.out << man_page(context.program);
    return Status::ok();
  };
  return command;
}

}  // namespace recto::experiments

#pragma once

// The command line as plain data, read off CLI11's own objects: what completion scripts and the
// manual page are made of. What is added to the program is in all of them by itself.

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

namespace recto::experiments {

enum class ValueKind : std::uint8_t {
  kNone,  // a flag alone
  kText,  // numbers and names
  kFile,
  kFolder,
};

struct OptionOutline {
  std::vector<std::string> flags;   // "--out"; the short ones first; none of a positional
  std::string value_name;           // "DIR"; empty where no value follows
  std::string help;                 // one line
  std::string group;                // under which the help shows it
  std::vector<std::string> values;  // that are known; there may be others
  ValueKind kind = ValueKind::kNone;
  bool is_list = false;  // of several values, by commas

  bool is_positional() const { return flags.empty(); }
};

struct CommandOutline {
  std::string name;
  std::string about;   // one line
  std::string footer;  // of the help: remarks and examples
  std::vector<OptionOutline> options;
  std::vector<CommandOutline> commands;
};

// O(flags). Options without a group are hidden, from the help as from here.
CommandOutline outline_of(const CLI::App& app);

}  // namespace recto::experiments

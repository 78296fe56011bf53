#pragma once

// The command line as plain data, read from CLI11's own objects. Completion scripts and the manual
// page are made from it, so that additions to the program appear in them automatically.

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
  std::vector<std::string> flags;   // "--out"; the short ones first; none for a positional
  std::string value_name;           // "DIR"; empty where no value follows
  std::string help;                 // one line
  std::string group;                // under which the help shows it
  std::vector<std::string> values;  // that are known; there may be others
  ValueKind kind = ValueKind::kNone;
  bool is_list = false;  // several values, separated by commas

  bool is_positional() const { return flags.empty(); }
};

struct CommandOutline {
  std::string name;
  std::string about;   // one line
  std::string footer;  // of the help: remarks and examples
  std::vector<OptionOutline> options;
  std::vector<CommandOutline> commands;
};

// O(flags). Options without a group are hidden, both from the help and here.
CommandOutline outline_of(const CLI::App& app);

}  // namespace recto::experiments

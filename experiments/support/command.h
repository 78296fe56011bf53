#pragma once

// Commands as plain data: their options, and the action of each option on its text. command_line.h
// parses with these data; the help, completion scripts and the manual page show them.

#include <cstdint>
#include <functional>
#include <ostream>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/json.h"
#include "core/status.h"
#include "experiments/support/numbers.h"

namespace recto::experiments {

// The text that follows an option.
struct OptionValue {
  // Stores the text, or fails with what was found and what was expected.
  std::function<Status(const std::string& text)> take;
  std::vector<std::string> known = {};  // permitted names, for completion
  bool may_repeat = false;
};

// Values stored in `target`, which must outlive the command. An option with several values adds to
// them each time that it is given.

OptionValue flag(bool& target);

// An option of one text, or of several.
template <typename Target>
OptionValue any_text(Target& target) {
  constexpr bool kIsList = std::is_same_v<Target, std::vector<std::string>>;
  return {.take =
              [&target](const std::string& text) {
                if constexpr (kIsList) target.push_back(text);
                if constexpr (!kIsList) target = text;
                return Status::ok();
              },
          .may_repeat = kIsList};
}

// Refuses an empty text, such as that of an unset variable; `expected` is "a file".
OptionValue without_empty(OptionValue value, const std::string& expected);
template <typename Target>
OptionValue nonempty_text(Target& target, const std::string& expected) {
  return without_empty(any_text(target), expected);
}

OptionValue one_of(std::string& target, const std::vector<std::string>& names);

template <typename Target>
OptionValue integer(Target& target, CountRange range) {
  return {
      .take = [&target, range](auto& text) { return store(parse_number(text, range), target); }};
}
OptionValue integer(std::uint64_t& target);
OptionValue integers(std::vector<std::int64_t>& target, CountRange range);  // "1,2,4"

template <typename Target>
OptionValue number(Target& target, NumberRange range) {
  return {
      .take = [&target, range](auto& text) { return store(parse_number(text, range), target); }};
}

enum class ValueKind : std::uint8_t {
  kNone,  // a flag alone
  kText,  // numbers and names
  kFile,
  kFolder,
};

// A flag, or a positional argument, which is required.
struct Option {
  std::vector<std::string> flags;  // "--out"; the short ones first; none for a positional
  std::string name;                // in messages: the last flag; "folder" for a positional
  std::string value_name;          // "DIR"; empty if no value follows
  std::string help;                // in lines of a terminal
  OptionValue value;
  std::string group = "Options";  // the option's heading in the help
  bool is_required = false;
  std::vector<std::string> needs = {};     // flags that must also be given
  std::vector<std::string> excludes = {};  // flags that must not; one of the two names the other

  bool is_positional() const { return flags.empty(); }
  bool is_list() const;  // several values, separated by commas
  ValueKind kind() const;
  std::string help_line() const;
};

// What the terminal can show.
enum class Charset : std::uint8_t { kUtf8, kAscii };
enum class Colour : std::uint8_t { kNever, kAnsi };
enum class Progress : std::uint8_t { kSilent, kShown };  // on standard error

struct Terminal {
  Charset charset = Charset::kAscii;
  Colour colour = Colour::kNever;
  Progress progress = Progress::kSilent;
};

struct CommandContext;

struct Command {
  // With --help as its only option.
  Command(std::string command_name, std::string command_about);

  // `names` are as the help shows them: "--json", "-q,--quiet", "--out DIR"; for a positional
  // "FILE", or "folder DIR" if messages use another name. The result is valid until the next call.
  Option& add(std::string_view names, OptionValue value, std::string help);

  std::string name;
  std::string about;         // one line
  std::string footer;        // of the help: remarks and examples
  std::string version = {};  // shown by --version, if it is an option
  // The program that runs the command, in the folder of the program that lists it; empty: the
  // latter.
  std::string program = {};
  std::vector<Option> options;
  std::vector<Command> commands;
  // Called after the command line has been parsed; the status becomes the exit code.
  std::function<Status(CommandContext&)> run;
};

// Options that the help shows under a separate heading.
struct OptionGroup {
  Option& add(std::string_view names, OptionValue value, std::string help) const;

  Command& command;
  std::string heading;
};

// The context that every command's run gets.
struct CommandContext {
  std::ostream& out;  // results
  std::ostream& err;  // progress and remarks; errors are printed by main()
  Terminal terminal;
  const Command& program;               // printed text uses its name
  std::vector<std::string> given = {};  // names of options, as on the command line

  bool is_given(std::string_view option_name) const;
};

// 0 done, 1 the run failed, 2 bad usage or bad input.
int exit_code(const Status& status);

Json commands_json(const std::vector<Command>& commands);

// Reads the output of commands_json(). `program`: the name of the program that runs the commands.
std::vector<Command> commands_of(const Json& json, const std::string& program);

// recto NAME, each in experiments/NAME/NAME_command.cc.
Command fragmentation_command();
Command simulate_command();
Command sweep_command();
Command report_command();
Command trace_command();
Command plan_command();
Command plot_command();
Command generate_command();
Command verify_command();
Command replay_command();
Command cases_command();
Command check_command();
Command oracle_command();
Command ptx_command();
Command numerics_command();
Command completion_command();
Command man_command();

}  // namespace recto::experiments

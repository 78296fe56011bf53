#include "experiments/support/program.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <new>
#include <string>
#include <system_error>
#include <vector>

#include "core/status.h"
#include "experiments/support/callers_folder.h"
#include "experiments/support/command_line.h"
#include "experiments/support/terminal.h"
#include "experiments/support/version.h"

namespace recto::experiments {
namespace {

// A message quotes the contents of files and arguments, which may hold terminal control characters.
std::string without_control_characters(std::string text) {
  std::ranges::replace_if(
      text, [](unsigned char c) { return c != '\n' && c != '\t' && std::iscntrl(c) != 0; }, '?');
  return text;
}

int report(const Command& program, const Status& status) {
  if (!status.is_ok()) {
    std::cerr << program.name << ": " << without_control_characters(status.message()) << '\n';
  }
  return exit_code(status);
}

// Printed output may still not have been written. It may also be lost before: who starts a process
// flushes stdout.
int finish_output(const Command& program, int code) {
  const bool was_lost = std::ferror(stdout) != 0;
  std::cout.flush();
  if (std::cout.good() && !was_lost) return code;
  const std::string why = std::cout.good() ? "it was not written in whole" : std::strerror(errno);
  report(program, Status::failed("standard output: " + why));
  return code == 0 ? EXIT_FAILURE : code;
}

// No run can continue without memory, whichever thread ran out of it.
std::string name_out_of_memory;

void end_out_of_memory() {
  for (const char* const part : {name_out_of_memory.c_str(), ": out of memory\n"})
    if (write(STDERR_FILENO, part, std::strlen(part)) < 0) break;
  _exit(EXIT_FAILURE);
}

// The command that the first word names, if another program runs it.
const Command* command_elsewhere(const Command& program, const std::vector<std::string>& words) {
  if (words.empty()) return nullptr;
  const auto named = std::ranges::find(program.commands, words.front(), &Command::name);
  return named == program.commands.end() || named->program.empty() ? nullptr : &*named;
}

// Becomes the program that runs the command, as git does with those that it finds beside itself.
// Returns only if there is none, or it cannot be run.
Status run_elsewhere(const Command& command, char** argv) {
  std::error_code error;
  const auto folder = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  const std::string path = folder / command.program;
  execv(path.c_str(), argv);
  if (errno != ENOENT) return Status::failed(path + ": " + std::strerror(errno));
  return Status::failed(fmt::format(
      "{0} is a command of {1}, which is not in {2}; ./bazelw build -c opt //experiments:{1} "
      "builds it",
      command.name, command.program, folder.string()));
}

}  // namespace

int run_program(Command program, int argc, char** argv, WhyNotRun why_not_run) {
  name_out_of_memory = program.name;
  std::set_new_handler(end_out_of_memory);
  enter_callers_folder();
  program.version = program.name + " " + kVersion + ", commit " + commit();
  program.add("--version", {}, "Display program version information and exit");
  const std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  if (const Command* command = command_elsewhere(program, words)) {
    const Status status = run_elsewhere(*command, argv);
    // The help is known here, too.
    if (std::ranges::count(words, "--help") == 0) return report(program, status);
  }
  const Result<ParsedLine> parsed = parse_command_line(program, words);
  if (!parsed.is_ok()) return report(program, parsed.status());
  const ParsedLine& line = parsed.value();
  if (line.command == nullptr) {
    std::cout << line.text;
    return finish_output(program, EXIT_SUCCESS);
  }
  CommandContext context{std::cout, std::cerr, detect_terminal(), program, line.given};
  if (why_not_run != nullptr) {
    if (const auto ended = why_not_run(context)) return finish_output(program, *ended);
  }
  return finish_output(program, report(program, line.command->run(context)));
}

}  // namespace recto::experiments

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
#include <string_view>
#include <system_error>
#include <vector>

#include "core/status.h"
#include "experiments/support/command_line.h"
#include "experiments/support/manifest.h"

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

// Flushes stdout, because printed output may still be buffered. Code that starts a process flushes
// stdout before.
int finish_output(const Command& program, int code) {
  const bool was_lost = std::ferror(stdout) != 0;
  std::cout.flush();
  if (std::cout.good() && !was_lost) return code;
  const std::string why = std::cout.good() ? "it was not written in whole" : std::strerror(errno);
  report(program, Status::failed("standard output: " + why));
  return code == 0 ? EXIT_FAILURE : code;
}

// No run can continue without memory, in any thread.
std::string name_out_of_memory;

void end_out_of_memory() {
  for (const char* const part : {name_out_of_memory.c_str(), ": out of memory\n"})
    if (write(STDERR_FILENO, part, std::strlen(part)) < 0) break;
  _exit(EXIT_FAILURE);
}

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

// The first variable that is set decides, as in POSIX.
bool has_utf8_locale() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    std::string locale(variable(name));
    if (locale.empty()) continue;
    for (char& c : locale) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return locale.find("utf-8") != std::string::npos || locale.find("utf8") != std::string::npos;
  }
  return false;
}

// UTF-8 if the locale is (LC_ALL, LC_CTYPE, LANG); colour if standard output is a terminal that is
// not dumb and NO_COLOR is empty; progress if standard error is a terminal.
Terminal detect_terminal() {
  Terminal terminal;
  if (has_utf8_locale()) terminal.charset = Charset::kUtf8;
  const bool is_dumb = variable("TERM") == "dumb";
  if (isatty(STDOUT_FILENO) != 0 && !is_dumb && variable("NO_COLOR").empty()) {
    terminal.colour = Colour::kAnsi;
  }
  if (isatty(STDERR_FILENO) != 0 && !is_dumb) terminal.progress = Progress::kShown;
  return terminal;
}

// The command of the first word, if another program runs it.
const Command* command_elsewhere(const Command& program, const std::vector<std::string>& words) {
  if (words.empty()) return nullptr;
  const auto named = std::ranges::find(program.commands, words.front(), &Command::name);
  return named == program.commands.end() || named->program.empty() ? nullptr : &*named;
}

// Executes the program of the command from this program's folder, as git does with its subcommands.
// Returns only if the program is missing or cannot be run.
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
    // This program can print the command's help, too.
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

void enter_callers_folder() {
  const char* caller = std::getenv("BUILD_WORKING_DIRECTORY");
  if (caller == nullptr) return;
  char here[4096];
  // A caller that has changed its folder since, such as a script under `bazel run`, expects its
  // present folder.
  if (getcwd(here, sizeof(here)) == nullptr) return;
  if (std::string_view(here).find(".runfiles/") == std::string_view::npos) return;
  if (chdir(caller) != 0) std::cerr << caller << ": " << std::strerror(errno) << '\n';
}

}  // namespace recto::experiments

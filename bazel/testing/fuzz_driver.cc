// Runs LLVMFuzzerTestOneInput without libFuzzer: every file of the corpus, then a fixed number of
// mutations of it under a fixed seed. Saves an input that crashes, hangs, throws or exits, and
// prints the command that replays it.
//
//   -runs=N      mutations to run
//   FILE...      the corpus
//   -only=N      run only input N of such a run, as the replay command does
//   -file=FILE   run only this file

#include <fcntl.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>
#include <vector>

#include "bazel/testing/mutator.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

// The sanitizers' runtimes have it; elsewhere it is null.
// NOLINTNEXTLINE(bugprone-reserved-identifier)
extern "C" __attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)());

namespace {

constexpr std::uint64_t kSeed = 2026;
constexpr unsigned kHangSeconds = 60;

struct Options {
  long runs = 0;
  long only = -1;
  std::string file;
  std::vector<std::string> corpus_files;
};

// The running input; signal handlers read it and must not allocate.
const std::string* current_input = nullptr;
long current_index = -1;
bool is_single_file = false;
char failure_path[4096];
char shown_path[4096];  // the caller's path, outside the sandbox
char target_label[1024];

std::string environment(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : value;
}

bool write_failing_input(const std::string& input) {
  const int file = open(failure_path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (file < 0) return false;
  const ssize_t written = write(file, input.data(), input.size());
  return close(file) == 0 && written == static_cast<ssize_t>(input.size());
}

// Reports the failure of the current input, and saves it. Called at most once for an input.
void report_failure(const char* what) {
  if (current_input == nullptr) return;
  const std::string& input = *current_input;
  current_input = nullptr;
  const bool kept = !is_single_file && write_failing_input(input);
  char text[8192];
  int length = std::snprintf(text, sizeof text, "fuzz: input %ld (%zu bytes) %s\n", current_index,
                             input.size(), what);
  if (!is_single_file) {
    length += std::snprintf(text + length, sizeof text - static_cast<std::size_t>(length),
                            "fuzz: it %s %s\nreplay: ./bazelw run %s -- -only=%ld\n",
                            kept ? "was kept as failing_input in" : "could not be written to",
                            shown_path, target_label, current_index);
  }
  if (write(STDERR_FILENO, text, static_cast<std::size_t>(length)) < 0) return;
}

extern "C" void handle_signal(int number) {
  report_failure(number == SIGALRM   ? "hangs"
                 : number == SIGTERM ? "was running when the test was stopped"
                                     : "crashes");
  std::signal(number, SIG_DFL);
  raise(number);
}

void install_handlers() {
  // Own stack, so that a stack overflow is reported too.
  static char stack[1 << 16];
  stack_t alternate = {};
  alternate.ss_sp = stack;
  alternate.ss_size = sizeof stack;
  sigaltstack(&alternate, nullptr);
  struct sigaction action = {};
  action.sa_handler = handle_signal;
  action.sa_flags = SA_ONSTACK | SA_NODEFER;
  for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM, SIGTERM}) {
    sigaction(number, &action, nullptr);
  }
  if (__sanitizer_set_death_callback != nullptr) {
    __sanitizer_set_death_callback([] { report_failure("is refused by the sanitizer"); });
  }
  std::atexit([] {
    if (current_input == nullptr) return;
    report_failure("ends the program by exit()");
    _exit(1);
  });
}

void prepare_failure_texts() {
  const std::string folder = environment("TEST_UNDECLARED_OUTPUTS_DIR", "/tmp");
  const std::string target = environment("TEST_TARGET", "<this test>");
  const std::size_t testlogs = folder.find("/testlogs/");
  const std::string shown =
      testlogs == std::string::npos ? folder : "bazel-" + folder.substr(testlogs + 1);
  std::snprintf(failure_path, sizeof failure_path, "%s/failing_input", folder.c_str());
  std::snprintf(shown_path, sizeof shown_path, "%s", shown.c_str());
  std::snprintf(target_label, sizeof target_label, "%s", target.c_str());
}

void run_one(const std::string& input, long index) {
  current_input = &input;
  current_index = index;
  alarm(kHangSeconds);
  try {
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    report_failure("lets an exception out");
    _exit(1);
  }
  alarm(0);
  current_input = nullptr;
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    std::fprintf(stderr, "fuzz: cannot read %s\n", path.c_str());
    std::exit(2);
  }
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// Under `bazel run` relative paths are relative to the caller's folder.
std::string from_callers_folder(const std::string& path) {
  return path.starts_with("/") ? path : environment("BUILD_WORKING_DIRECTORY", ".") + "/" + path;
}

// Ends the program unless `text` is a whole number.
long whole_number(const std::string& name, const std::string& text) {
  long number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error == std::errc() && stop == end && number >= 0) return number;
  std::fprintf(stderr, "fuzz: %s: expected a whole number, got '%s'\n", name.c_str(), text.c_str());
  std::exit(2);
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const std::string value = argument.substr(argument.find('=') + 1);
    if (argument.starts_with("-runs=")) {
      options.runs = whole_number("-runs", value);
    } else if (argument.starts_with("-only=")) {
      options.only = whole_number("-only", value);
    } else if (argument.starts_with("-file=")) {
      options.file = value;
    } else {
      options.corpus_files.push_back(argument);
    }
  }
  return options;
}

// Runs the corpus and its mutations, or only the requested input; returns the number of inputs run.
long run_campaign(const Options& options, std::vector<std::string> corpus) {
  const auto is_wanted = [&](long index) { return options.only < 0 || options.only == index; };
  const long files = static_cast<long>(corpus.size());
  long index = 0;
  for (; index < files; ++index) {
    if (is_wanted(index)) run_one(corpus[static_cast<std::size_t>(index)], index);
  }
  if (corpus.empty()) corpus.emplace_back();
  // The long campaign ends by time; it runs the same inputs in the same order, followed by more.
  const long seconds = whole_number("RECTO_FUZZ_SECONDS", environment("RECTO_FUZZ_SECONDS", "0"));
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  const long runs = options.only < 0 ? options.runs : options.only + 1 - files;
  recto::testing::Mutator mutator(kSeed);
  for (; index < files + runs || (options.only < 0 && std::chrono::steady_clock::now() < end);
       ++index) {
    const std::string input = mutator.next_input(corpus);
    if (is_wanted(index)) run_one(input, index);
  }
  return options.only < 0 ? index : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  prepare_failure_texts();
  install_handlers();
  if (!options.file.empty()) {
    is_single_file = true;
    run_one(read_file(from_callers_folder(options.file)), 0);
    std::printf("fuzz: %s does not fail\n", options.file.c_str());
    return 0;
  }
  std::vector<std::string> corpus;
  for (const std::string& path : options.corpus_files) corpus.push_back(read_file(path));
  const long ran = run_campaign(options, corpus);
  std::printf("fuzz: %ld inputs ran (%zu of them files of the corpus), none failed\n", ran,
              corpus.size());
  return 0;
}

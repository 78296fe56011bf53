// Tests of a sweep that is killed and called again.

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "experiments/support/command.h"
#include "experiments/support/output_file.h"
#include "experiments/support/testing/tried_command.h"

namespace recto::experiments {
namespace {

std::string path_of(const std::string& name) {
  const char* folder = std::getenv("TEST_TMPDIR");
  return (folder == nullptr ? std::string("/tmp") : folder) + "/" + name;
}

std::vector<std::string> arguments_for(const std::string& out) {
  return {"sweep",
          "--out",
          out,
          "--requests",
          "400",
          "--block-size",
          "1,2,4,8,16,32,64,128",
          "--tp",
          "1,2,4",
          "--threads",
          "4",
          "--allocator",
          "paged,contiguous-oracle"};
}

constexpr const char* kJournal = "/sweep.journal.jsonl";

std::int64_t journal_lines(const std::string& out) {
  const auto text = read_text_file(out + kJournal);
  return text.is_ok() ? std::count(text.value().begin(), text.value().end(), '\n') : 0;
}

// Runs the sweep in a process of its own, which the system kills as soon as its journal would have
// more than `bytes`: no clock decides when.
void run_killed_at(rlim_t bytes, const std::string& out) {
  const pid_t child = fork();
  if (child == 0) {
    const rlimit no_core = {0, 0};
    const rlimit limit = {bytes, bytes};
    setrlimit(RLIMIT_CORE, &no_core);
    setrlimit(RLIMIT_FSIZE, &limit);
    signal(SIGXFSZ, SIG_DFL);
    testing::try_command(sweep_command, arguments_for(out));
    _exit(0);
  }
  REQUIRE(child > 0);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGXFSZ);
}

TEST_CASE("a sweep that was killed three times ends with the files of one that was not") {
  const std::string whole = path_of("whole");
  const std::string killed = path_of("killed");
  REQUIRE(testing::try_command(sweep_command, arguments_for(whole)).exit_code == 0);
  const auto size = static_cast<rlim_t>(std::filesystem::file_size(whole + kJournal));
  for (const rlim_t quarters : {1U, 2U, 3U}) run_killed_at(size * quarters / 4, killed);
  const std::int64_t left = journal_lines(killed);
  CHECK(left >= 25);
  CHECK(left < 49);  // all of them
  CHECK_FALSE(read_text_file(killed + "/sweep.csv").is_ok());

  const auto resumed = testing::try_command(sweep_command, arguments_for(killed));
  CHECK(resumed.exit_code == 0);
  CHECK(resumed.err.find("runs were done before") != std::string::npos);
  for (const char* file : {"/sweep.csv", "/manifest.json"}) {
    CHECK(read_text_file(killed + file).value() == read_text_file(whole + file).value());
  }
}

}  // namespace
}  // namespace recto::experiments

// Tests of a sweep that is killed and called again.

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <string>
#include <thread>
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

std::int64_t journal_lines(const std::string& out) {
  const auto text = read_text_file(out + "/sweep.journal.jsonl");
  return text.is_ok() ? std::count(text.value().begin(), text.value().end(), '\n') : 0;
}

// Starts the sweep in a process of its own and kills it once its journal has `lines` lines.
void kill_after(std::int64_t lines, const std::string& out) {
  const pid_t child = fork();
  if (child == 0) {
    testing::try_command(sweep_command, arguments_for(out));
    _exit(0);
  }
  REQUIRE(child > 0);
  while (journal_lines(out) < lines) {
    if (waitpid(child, nullptr, WNOHANG) == child) return;  // done already
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

TEST_CASE("a sweep that was killed three times ends with the files of one that was not") {
  const std::string whole = path_of("whole");
  const std::string killed = path_of("killed");
  REQUIRE(testing::try_command(sweep_command, arguments_for(whole)).exit_code == 0);
  for (const std::int64_t lines : {3, 12, 25}) kill_after(lines, killed);
  const std::int64_t left = journal_lines(killed);
  CHECK(left >= 25);
  CHECK(left < 49);  // or nothing was killed in the middle
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

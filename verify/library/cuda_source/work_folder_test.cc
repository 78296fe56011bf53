#include "verify/library/cuda_source/work_folder.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <string>

#include "bazel/testing/catch.h"

namespace recto::verify {
namespace {

namespace fs = std::filesystem;

// Waits forever as one of the folder's processes, with a file in the folder.
pid_t start_worker(const WorkFolder& folder) {
  const pid_t worker = fork();
  if (worker == 0) {
    setpgid(0, folder.group());
    std::ofstream(folder.path() / "file") << "text";
    for (;;) pause();
  }
  while (!fs::exists(folder.path() / "file")) usleep(1000);
  return worker;
}

// Reads from `pipe` until all processes have closed the other end.
std::string all_of(int pipe) {
  std::string text;
  std::array<char, 256> buffer = {};
  for (ssize_t bytes = 1; bytes > 0;) {
    bytes = read(pipe, buffer.data(), buffer.size());
    text.append(buffer.data(), static_cast<std::size_t>(bytes > 0 ? bytes : 0));
  }
  return text;
}

TEST_CASE("a work folder and its processes exist as long as their owner") {
  fs::path path;
  pid_t worker = 0;
  {
    Result<WorkFolder> made = WorkFolder::create("recto-test-");
    REQUIRE(made.is_ok());
    const WorkFolder folder = std::move(made).value();
    path = folder.path();
    CHECK(path.filename().string().starts_with("recto-test-"));
    worker = start_worker(folder);
    CHECK(waitpid(worker, nullptr, WNOHANG) == 0);
  }
  CHECK(!fs::exists(path));
  int status = 0;
  CHECK(waitpid(worker, &status, 0) == worker);
  CHECK(WIFSIGNALED(status));
}

TEST_CASE("an owner that ends at once leaves no folder") {
  for (int i = 0; i < 100; ++i) {
    fs::path path;
    {
      const Result<WorkFolder> made = WorkFolder::create("recto-test-");
      REQUIRE(made.is_ok());
      path = made.value().path();
    }
    CHECK(!fs::exists(path));
  }
}

TEST_CASE("a program that a signal ends leaves nothing, and ends by that signal") {
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGKILL}) {
    INFO("signal " << number);
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    const pid_t program = fork();
    if (program == 0) {
      setpgid(0, 0);
      signal(number, SIG_DFL);  // Catch installs handlers
      const Result<WorkFolder> made = WorkFolder::create("recto-test-");
      const std::string path = made.value().path().string() + "\n";
      start_worker(made.value());
      (void)!write(ends[1], path.data(), path.size());
      for (;;) pause();
    }
    close(ends[1]);
    std::string path;
    for (char letter = 0; read(ends[0], &letter, 1) == 1 && letter != '\n';) path += letter;
    CHECK(fs::exists(path));
    kill(-program, number);  // as a terminal does
    int status = 0;
    REQUIRE(waitpid(program, &status, 0) == program);
    CHECK(WIFSIGNALED(status));
    CHECK(WTERMSIG(status) == number);
    // All of its processes held the pipe open.
    CHECK(all_of(ends[0]).empty());
    close(ends[0]);
    CHECK(!fs::exists(path));
  }
}

}  // namespace
}  // namespace recto::verify

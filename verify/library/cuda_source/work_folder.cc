#include "verify/library/cuda_source/work_folder.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

namespace recto::verify {
namespace {

namespace fs = std::filesystem;

// A process that is ending may still write, so that the folder is not empty when it is removed.
constexpr int kTries = 100;
constexpr useconds_t kBetweenTriesUs = 10'000;

// Waits for the end of the thread that forked, or for SIGTERM, then cleans up. All signals are
// blocked.
[[noreturn]] void keep(const fs::path& folder, pid_t program) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  sigset_t awaited;
  sigemptyset(&awaited);
  sigaddset(&awaited, SIGTERM);
  int number = 0;
  if (getppid() == program) sigwait(&awaited, &number);
  kill(0, SIGTERM);
  std::error_code error;
  for (int i = 0; i < kTries; ++i) {
    fs::remove_all(folder, error);
    if (!error) break;
    usleep(kBetweenTriesUs);
  }
  kill(0, SIGKILL);  // ends the remaining processes, and this one
  _exit(0);
}

// Blocks all signals before the fork, so that none can end the new process before it cleans up.
pid_t fork_blocking_signals() {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t process = fork();
  if (process != 0) pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return process;
}

}  // namespace

Result<WorkFolder> WorkFolder::create(const std::string& prefix) {
  std::error_code error;
  std::string folder = (fs::temp_directory_path(error) / (prefix + "XXXXXX")).string();
  if (error || mkdtemp(folder.data()) == nullptr) {
    return Status::failed(folder + ": " + (error ? error.message() : std::strerror(errno)));
  }
  const pid_t program = getpid();
  const pid_t keeper = fork_blocking_signals();
  if (keeper == 0) keep(folder, program);
  if (keeper < 0) {
    const std::string why = std::strerror(errno);
    fs::remove_all(folder, error);
    return Status::failed("a process to remove " + folder + ": " + why);
  }
  setpgid(keeper, keeper);  // both processes call it; either may be first
  return WorkFolder(folder, keeper);
}

WorkFolder::~WorkFolder() {
  if (keeper_ < 0) return;
  kill(keeper_, SIGTERM);
  while (waitpid(keeper_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace recto::verify

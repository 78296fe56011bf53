// Detects whether another process computes, waits, or waits for one that computes.

#include "verify/library/process_activity.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bazel/testing/catch.h"

namespace recto::verify {
namespace {

void compute_for_ever() {
  volatile int one = 1;
  while (one == 1) continue;
}

void wait_for_ever() {
  while (true) pause();
}

void start_one_and_wait() {
  if (fork() == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    compute_for_ever();
  }
  wait_for_ever();
}

// A process that runs `does`; killed when this object is destroyed.
class Process {
 public:
  explicit Process(void (*does)()) : id_(fork()) {
    if (id_ != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    does();
  }
  ~Process() {
    kill(id_, SIGKILL);
    waitpid(id_, nullptr, 0);
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  int id() const { return id_; }

  // Whether it begins to wait within seconds; without other load, it does at once.
  bool comes_to_wait() const {
    for (int look = 0; look < 10'000; ++look) {
      if (is_waiting(id_)) return true;
      usleep(1000);
    }
    return false;
  }
  // Watches it for a while.
  bool ever_waits() const {
    for (int look = 0; look < 100; ++look) {
      if (is_waiting(id_)) return true;
      usleep(1000);
    }
    return false;
  }

 private:
  int id_;
};

TEST_CASE("a waiting process is recognised, and uses no CPU time") {
  const Process process(wait_for_ever);
  CHECK(process.comes_to_wait());
  const std::int64_t before_ms = cpu_time_ms(process.id());
  usleep(50'000);
  CHECK(is_waiting(process.id()));
  CHECK(cpu_time_ms(process.id()) == before_ms);
}

TEST_CASE("a process that computes never waits, whether the machine has time for it or not") {
  const Process process(compute_for_ever);
  CHECK_FALSE(process.ever_waits());
}

TEST_CASE("a process that waits for one that it has started, which computes, does not wait") {
  if (access(fmt::format("/proc/{0}/task/{0}/children", getpid()).c_str(), R_OK) != 0) {
    RECTO_SKIP("the kernel does not tell which processes a process has started");
  }
  const Process process(start_one_and_wait);
  usleep(50'000);
  CHECK_FALSE(process.ever_waits());
}

TEST_CASE("a process that has ended does not wait, and its CPU time reads as 0") {
  int gone = 0;
  {
    const Process process(wait_for_ever);
    gone = process.id();
  }
  CHECK_FALSE(is_waiting(gone));
  CHECK(cpu_time_ms(gone) == 0);
}

}  // namespace
}  // namespace recto::verify

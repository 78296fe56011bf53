#include "verify/library/process_activity.h"

#include <fmt/format.h>
#include <time.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>

namespace recto::verify {
namespace {

namespace fs = std::filesystem;

// `thread` is its folder in /proc: proc(5). A thread that has ended does not count as computing.
bool is_thread_waiting(const fs::path& thread) {
  std::ifstream file(thread / "stat");
  const std::string stat{std::istreambuf_iterator<char>(file), {}};
  // The name before the state is in parentheses, and may itself contain some.
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos || name_end + 2 >= stat.size()) return true;
  const char state = stat[name_end + 2];
  const bool needs_machine = state == 'R' || state == 'D';
  return !needs_machine;
}

bool are_children_waiting(const fs::path& thread) {
  std::ifstream file(thread / "children");  // missing if the kernel was built without it
  for (int child = 0; file >> child;)
    if (!is_waiting(child)) return false;
  return true;
}

}  // namespace

std::int64_t cpu_time_ms(int process) {
  clockid_t clock = {};
  timespec time = {};
  if (clock_getcpuclockid(process, &clock) != 0 || clock_gettime(clock, &time) != 0) return 0;
  return std::int64_t{time.tv_sec} * 1000 + time.tv_nsec / 1'000'000;
}

bool is_waiting(int process) {
  std::error_code error;
  fs::directory_iterator threads(fmt::format("/proc/{}/task", process), error);
  if (error) return false;
  for (; threads != fs::directory_iterator(); threads.increment(error)) {
    if (!is_thread_waiting(threads->path()) || !are_children_waiting(threads->path())) return false;
    if (error) return false;
  }
  return true;
}

}  // namespace recto::verify

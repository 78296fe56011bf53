#include "verify/library/kernel_process.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "verify/library/kernel_worker.h"
#include "verify/library/process_activity.h"
#include "verify/library/recto_kernel.h"

namespace recto::verify {
namespace {

// A process that has closed its channel but does not exit within this time is killed.
constexpr int kGraceMs = 1000;
// How often to check its activity: every kLookMs, and at least this often within its limit.
constexpr std::int64_t kLookMs = 50;
constexpr std::int64_t kLooks = 10;
// The CPU time that a hanging process may use, as a fraction of its limit: some poll now and then.
constexpr std::int64_t kHangingPart = 50;

Status system_failure(const char* what) {
  return Status::failed(fmt::format("{}: {}", what, std::strerror(errno)));
}

bool has_ended(int process) {
  siginfo_t info = {};
  waitid(P_PID, static_cast<id_t>(process), &info, WEXITED | WNOWAIT | WNOHANG);
  return info.si_pid != 0;
}

// kAnswered if a byte or the channel's end arrived within the limits, or the process has ended (a
// child process of it may keep the channel open).
KernelEnd wait_for(int process, int channel, std::int64_t cpu_before_ms,
                   std::int64_t time_limit_ms) {
  pollfd wanted = {.fd = channel, .events = POLLIN, .revents = 0};
  const std::int64_t look_ms = std::clamp<std::int64_t>(time_limit_ms / kLooks, 1, kLookMs);
  const std::int64_t clock_limit_ms = kClockLimitFactor * time_limit_ms;
  bool has_only_waited = true;  // in the last part of the limit
  std::int64_t cpu_at_first_ms = 0;
  for (std::int64_t waited_ms = 0; waited_ms < clock_limit_ms; waited_ms += look_ms) {
    const std::int64_t cpu_ms = cpu_time_ms(process);
    const bool is_late = waited_ms >= time_limit_ms && cpu_ms - cpu_before_ms >= time_limit_ms;
    if (is_late) return KernelEnd::kTimeLimit;
    const bool is_last_part = waited_ms >= clock_limit_ms - time_limit_ms;
    if (!is_last_part) cpu_at_first_ms = cpu_ms;
    if (is_last_part) has_only_waited = has_only_waited && is_waiting(process);
    if (poll(&wanted, 1, static_cast<int>(look_ms)) > 0) return KernelEnd::kAnswered;
    if (has_ended(process)) return KernelEnd::kAnswered;
  }
  const std::int64_t computed_ms = cpu_time_ms(process) - cpu_at_first_ms;
  const bool is_hanging = has_only_waited && computed_ms <= time_limit_ms / kHangingPart;
  return is_hanging ? KernelEnd::kHanging : KernelEnd::kClockLimit;
}

}  // namespace

Result<std::unique_ptr<KernelProcess>> KernelProcess::create(const std::string& path,
                                                             KernelDevice* device) {
  std::unique_ptr<KernelProcess> process(new KernelProcess(path, device));
  RECTO_RETURN_IF_ERROR(process->set_up());
  RECTO_RETURN_IF_ERROR(process->set_up_output());
  return process;
}

Status KernelProcess::set_up_output() {
  printed_ = memfd_create("recto-kernel-printed", MFD_CLOEXEC);
  if (printed_ < 0) return system_failure("a file for a library's output");
  fcntl(printed_, F_SETFL, O_APPEND);
  return Status::ok();
}

KernelProcess::~KernelProcess() {
  stop();
  if (printed_ >= 0) close(printed_);
}

void KernelProcess::stop() {
  if (is_running()) ended(KernelEnd::kTimeLimit);
}

Result<KernelAnswer> KernelProcess::start(const LoadLimits& limits) {
  stop();
  clear_mailbox();
  mailbox_->memories = kRectoHostMemory | (device_ == nullptr ? 0 : kRectoDeviceMemory);
  int ends[2] = {-1, -1};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return system_failure("a channel to another process");
  }
  // Otherwise both processes would write the buffered output.
  fflush(nullptr);
  process_ = fork();
  if (process_ == 0) {
    close(ends[0]);
    serve_kernel_calls({.path = path_,
                        .arena = arena_.get(),
                        .mailbox = mailbox_,
                        .channel = ends[1],
                        .printed = printed_,
                        .device = device_});
  }
  const Status failure = process_ < 0 ? system_failure("another process") : Status::ok();
  close(ends[1]);
  channel_ = ends[0];
  if (!failure.is_ok()) {
    close(channel_);
    return failure;
  }
  KernelAnswer answer = wait(0, limits.load_ms);
  while (answer.end == KernelEnd::kAnswered && is_announced(mailbox_->load_step)) {
    const bool is_asking = mailbox_->load_step == LoadStep::kAskingTable;
    const std::string before = std::move(answer.printed);
    const std::int64_t cpu_before_ms = cpu_time_ms(process_);
    go_on();
    answer = wait(cpu_before_ms, is_asking ? limits.table_ms : limits.load_ms);
    answer.printed = before + answer.printed;
  }
  return answer;
}

// If the process is gone, wait() detects it.
void KernelProcess::go_on() {
  const char byte = 0;
  (void)!send(channel_, &byte, 1, MSG_NOSIGNAL);
}

KernelAnswer KernelProcess::make_call(std::int64_t time_limit_ms) {
  const std::int64_t cpu_before_ms = cpu_time_ms(process_);
  go_on();
  return wait(cpu_before_ms, time_limit_ms);
}

KernelAnswer KernelProcess::wait(std::int64_t cpu_before_ms, std::int64_t time_limit_ms) {
  const KernelEnd end = wait_for(process_, channel_, cpu_before_ms, time_limit_ms);
  char byte = 0;
  KernelAnswer answer;
  if (end != KernelEnd::kAnswered) {
    answer = ended(end);
  } else if (recv(channel_, &byte, 1, MSG_DONTWAIT) != 1) {
    answer = ended(KernelEnd::kExit);
  } else {
    answer = {.code = mailbox_->returned, .printed = take_printed()};
  }
  answer.time_limit_ms = time_limit_ms;
  return answer;
}

// Ends the process unless it has ended by itself.
KernelAnswer KernelProcess::ended(KernelEnd end) {
  if (end == KernelEnd::kExit) {
    // It has closed its end of the channel, but may still be exiting.
    for (int waited_ms = 0; waited_ms < kGraceMs && !has_ended(process_); ++waited_ms) {
      usleep(1000);
    }
    if (!has_ended(process_)) end = KernelEnd::kClosed;
  }
  // Also kills its children: it leads its own process group. The second call is for a process that
  // has not created its group yet.
  kill(-process_, SIGKILL);
  kill(process_, SIGKILL);
  int status = 0;
  while (waitpid(process_, &status, 0) < 0 && errno == EINTR) {
  }
  process_ = -1;
  close(channel_);
  channel_ = -1;

  KernelAnswer answer{.end = end, .printed = take_printed()};
  if (end != KernelEnd::kExit) return answer;
  const FatalSignal& fatal = mailbox_->fatal_signal;
  if (fatal.number != 0 || WIFSIGNALED(status)) {
    answer.end = KernelEnd::kSignal;
    answer.code = fatal.number != 0 ? fatal.number : WTERMSIG(status);
    answer.fault = fatal.fault;
    return answer;
  }
  if (mailbox_->device_failure[0] != '\0') answer.end = KernelEnd::kDevice;
  answer.code = WEXITSTATUS(status);
  return answer;
}

std::string KernelProcess::take_printed() {
  std::string text(kPrintedBytes, '\0');
  const ssize_t bytes = pread(printed_, text.data(), text.size(), 0);
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(0, bytes)));
  const bool is_whole = lseek(printed_, 0, SEEK_END) <= static_cast<off_t>(kPrintedBytes);
  (void)!ftruncate(printed_, 0);
  return is_whole ? text : text + "\n[...]\n";
}

}  // namespace recto::verify

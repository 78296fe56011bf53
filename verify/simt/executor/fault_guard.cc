#include "verify/simt/executor/fault_guard.h"

#include <pthread.h>
#include <signal.h>
#include <ucontext.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>

#include "verify/simt/executor/sanitizer_reports.h"
#include "verify/simt/executor/scheduler.h"
#include "verify/simt/fibers/fiber_sanitizer.h"

namespace recto::simt {
namespace {

constexpr std::size_t kHandlerStackBytes = 64 << 10;

std::uintptr_t instruction_of([[maybe_unused]] const ucontext_t& context) {
#if defined(__x86_64__)
  return static_cast<std::uintptr_t>(context.uc_mcontext.gregs[REG_RIP]);
#elif defined(__aarch64__)
  return context.uc_mcontext.pc;
#else
  return 0;
#endif
}

// Checks all guarded OS threads periodically. One that makes no progress gets a signal.
class StallMonitor {
 public:
  static StallMonitor& instance() {
    static StallMonitor monitor;
    return monitor;
  }

  void add(const Scheduler& scheduler, unsigned stall_seconds) {
    const std::lock_guard lock(mutex_);
    if (watched_.empty()) next_look_ = Clock::now() + kPeriod;
    watched_[pthread_self()] = {&scheduler, scheduler.steps(), 0, stall_seconds};
    changed_.notify_one();
  }

  void remove() {
    const std::lock_guard lock(mutex_);
    watched_.erase(pthread_self());
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds kPeriod{1};

  struct Watched {
    const Scheduler* scheduler = nullptr;
    std::uint64_t steps = 0;
    unsigned still_seconds = 0;
    unsigned stall_seconds = 0;
  };

  StallMonitor() : thread_([this] { watch(); }) {}
  ~StallMonitor() {
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }

  void watch() {
    std::unique_lock lock(mutex_);
    while (!ends_) {
      if (watched_.empty()) {
        changed_.wait(lock);
        continue;
      }
      // Threads may be added and removed meanwhile, which must not delay the next look.
      changed_.wait_until(lock, next_look_);
      if (Clock::now() < next_look_) continue;
      look();
      next_look_ = Clock::now() + kPeriod;
    }
  }

  void look() {
    for (auto& [thread, watched] : watched_) {
      const std::uint64_t steps = watched.scheduler->steps();
      watched.still_seconds = steps == watched.steps ? watched.still_seconds + 1 : 0;
      watched.steps = steps;
      if (watched.still_seconds > watched.stall_seconds) pthread_kill(thread, SIGUSR2);
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<pthread_t, Watched> watched_;
  Clock::time_point next_look_ = {};
  bool ends_ = false;
  std::thread thread_;
};

void handle_stall(int, siginfo_t*, void* context) {
  if (current_thread == nullptr) return;
  running_thread().block->scheduler().abandon_at(
      {Scheduler::FaultKind::kStall, instruction_of(*static_cast<const ucontext_t*>(context))});
}

[[maybe_unused]] void handle_fault(int signal_number, siginfo_t* info, void* context) {
  if (current_thread == nullptr) {
    // Not in a kernel: the instruction faults again, and ends the program.
    signal(signal_number, SIG_DFL);
    return;
  }
  // Leaves the handler for good. Its stack is free again once nothing runs on it, and SA_NODEFER
  // has left the signal unblocked.
  const auto kind =
      signal_number == SIGFPE ? Scheduler::FaultKind::kArithmetic : Scheduler::FaultKind::kMemory;
  running_thread().block->scheduler().abandon_at(
      {kind, instruction_of(*static_cast<const ucontext_t*>(context)),
       reinterpret_cast<std::uintptr_t>(info->si_addr)});
}

// Installed while any thread is guarded; then the previous handlers are restored.
class Handlers {
 public:
  static Handlers& instance() {
    static Handlers handlers;
    return handlers;
  }

  void add_user() {
    const std::lock_guard lock(mutex_);
    if (users_++ > 0) return;
    name_threads_in_sanitizer_reports();
    install(SIGUSR2, &handle_stall);
#ifndef RECTO_SIMT_ANNOUNCES_SWITCHES
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE}) install(fault, &handle_fault);
#endif
  }

  void remove_user() {
    const std::lock_guard lock(mutex_);
    if (--users_ > 0) return;
    for (const auto& [signal_number, action] : before_) {
      sigaction(signal_number, &action, nullptr);
    }
  }

 private:
  void install(int signal_number, void (*handler)(int, siginfo_t*, void*)) {
    struct sigaction action = {};
    action.sa_sigaction = handler;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    sigaction(signal_number, &action, &before_[signal_number]);
  }

  std::mutex mutex_;
  int users_ = 0;
  std::map<int, struct sigaction> before_;
};

}  // namespace

FaultGuard::FaultGuard(const Scheduler& scheduler, unsigned stall_seconds)
    : handler_stack_(std::make_unique<std::byte[]>(kHandlerStackBytes)) {
  const stack_t stack = {handler_stack_.get(), 0, kHandlerStackBytes};
  sigaltstack(&stack, &replaced_stack_);
  Handlers::instance().add_user();
  StallMonitor::instance().add(scheduler, stall_seconds);
}

FaultGuard::~FaultGuard() {
  StallMonitor::instance().remove();
  Handlers::instance().remove_user();
  sigaltstack(&replaced_stack_, nullptr);
}

}  // namespace recto::simt

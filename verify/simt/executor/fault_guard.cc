#include "verify/simt/executor/fault_guard.h"

#include <fmt/format.h>
#include <ucontext.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <mutex>

#include "core/contract.h"
#include "verify/simt/executor/launch.h"
#include "verify/simt/executor/scheduler.h"

// Defined by the sanitizers, in programs that have them.
extern "C" __attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)());

namespace recto::simt {
namespace {

constexpr std::size_t kHandlerStackBytes = 64 << 10;

std::uintptr_t instruction_of([[maybe_unused]] const void* context) {
#if defined(__x86_64__)
  const auto& registers = static_cast<const ucontext_t*>(context)->uc_mcontext.gregs;
  return static_cast<std::uintptr_t>(registers[REG_RIP]);
#elif defined(__aarch64__)
  return static_cast<const ucontext_t*>(context)->uc_mcontext.pc;
#else
  return 0;
#endif
}

// The progress of the kernel that this OS thread runs, as of the last second.
struct Progress {
  std::uint64_t steps = 0;
  unsigned still_seconds = 0;
  unsigned stall_seconds = 0;
};
constinit thread_local Progress progress;

void handle_second(int, siginfo_t*, void* context) {
  if (current_thread == nullptr) return;
  Scheduler& scheduler = running_thread().block->scheduler();
  const bool stands_still = scheduler.steps() == progress.steps;
  progress.steps = scheduler.steps();
  progress.still_seconds = stands_still ? progress.still_seconds + 1 : 0;
  if (progress.still_seconds <= progress.stall_seconds) return;
  scheduler.abandon_at({Scheduler::FaultKind::kStall, instruction_of(context)});
}

[[maybe_unused]] void handle_fault(int signal_number, siginfo_t* info, void* context) {
  if (current_thread == nullptr) {
    // The fault is not in a kernel: the instruction faults again, and ends the program.
    signal(signal_number, SIG_DFL);
    return;
  }
  // Leaves the handler for good. Its stack is free again once nothing runs on it, and SA_NODEFER
  // has left the signal unblocked.
  const auto kind =
      signal_number == SIGFPE ? Scheduler::FaultKind::kArithmetic : Scheduler::FaultKind::kMemory;
  running_thread().block->scheduler().abandon_at(
      {kind, instruction_of(context), reinterpret_cast<std::uintptr_t>(info->si_addr)});
}

thread_local bool has_told = false;

// Does not use the heap, which may be corrupt.
void tell_thread() {
  if (current_thread == nullptr) return;
  const ThreadState& thread = running_thread();
  const Dim3& block = thread.block_index;
  std::array<char, 300> line;
  const auto written = fmt::format_to_n(
      line.data(), line.size(),
      "in kernel '{:.160}': thread {} (warp {}, lane {}) of block ({}, {}, {})\n",
      thread.block->launch().config.kernel, thread.linear, thread.linear / kWarpSize,
      thread.linear % kWarpSize, block.x, block.y, block.z);
  [[maybe_unused]] const auto told =
      write(STDERR_FILENO, line.data(), static_cast<std::size_t>(written.out - line.data()));
}

void tell_at_death() {
  if (!has_told) tell_thread();
}

struct Handled {
  int signal_number = 0;
  void (*handle)(int, siginfo_t*, void*) = nullptr;
};
constexpr Handled kHandled[] = {
    {SIGUSR2, &handle_second},
#ifndef RECTO_SIMT_ANNOUNCES_SWITCHES
    {SIGSEGV, &handle_fault},
    {SIGBUS, &handle_fault},
    {SIGFPE, &handle_fault},
#endif
};

// The handlers are installed while any thread is guarded. The previous ones are restored
// afterwards.
std::mutex handlers_mutex;
int guards = 0;
struct sigaction replaced_actions[std::size(kHandled)];

void install_handlers() {
  for (std::size_t i = 0; i < std::size(kHandled); ++i) {
    struct sigaction action = {};
    action.sa_sigaction = kHandled[i].handle;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER | SA_RESTART;
    sigaction(kHandled[i].signal_number, &action, &replaced_actions[i]);
  }
  if (__sanitizer_set_death_callback != nullptr) __sanitizer_set_death_callback(&tell_at_death);
}

void restore_handlers() {
  for (std::size_t i = 0; i < std::size(kHandled); ++i) {
    sigaction(kHandled[i].signal_number, &replaced_actions[i], nullptr);
  }
}

// Sends SIGUSR2 to this OS thread only, once per second.
timer_t start_timer() {
#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif
  sigevent event = {};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = SIGUSR2;
  event.sigev_notify_thread_id = gettid();
  timer_t timer = {};
  RECTO_CHECK_EQ(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
  const itimerspec each_second = {.it_interval = {1, 0}, .it_value = {1, 0}};
  timer_settime(timer, 0, &each_second, nullptr);
  return timer;
}

}  // namespace

FaultGuard::FaultGuard(unsigned stall_seconds)
    : handler_stack_(std::make_unique<std::byte[]>(kHandlerStackBytes)) {
  const stack_t stack = {handler_stack_.get(), 0, kHandlerStackBytes};
  sigaltstack(&stack, &replaced_stack_);
  progress = {.stall_seconds = stall_seconds};
  {
    const std::lock_guard lock(handlers_mutex);
    if (guards++ == 0) install_handlers();
  }
  each_second_ = start_timer();
}

FaultGuard::~FaultGuard() {
  // A signal that is pending arrives at the end of this call, while its handler is still installed.
  timer_delete(each_second_);
  {
    const std::lock_guard lock(handlers_mutex);
    if (--guards == 0) restore_handlers();
  }
  sigaltstack(&replaced_stack_, nullptr);
}

}  // namespace recto::simt

// UBSan calls this for each report, whether the program continues or not.
extern "C" void __ubsan_on_report() {
  recto::simt::has_told = true;
  recto::simt::tell_thread();
}

#include "verify/simt/executor/fault_guard.h"

#include <signal.h>
#include <ucontext.h>

#include <cstdint>
#include <mutex>

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

void handle_fault(int signal_number, siginfo_t* info, void* context) {
  if (current_thread == nullptr) {
    // Not a kernel's: the instruction faults again, and ends the program.
    signal(signal_number, SIG_DFL);
    return;
  }
  // Leaves the handler for good. Its stack is free again as soon as nobody stands on it, and
  // SA_NODEFER has left the signal open.
  running_thread().block->scheduler().abandon_at_fault(
      reinterpret_cast<std::uintptr_t>(info->si_addr),
      instruction_of(*static_cast<const ucontext_t*>(context)));
}

[[maybe_unused]] void install_handlers() {
  struct sigaction action = {};
  action.sa_sigaction = &handle_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  sigaction(SIGSEGV, &action, nullptr);
  sigaction(SIGBUS, &action, nullptr);
  sigaction(SIGFPE, &action, nullptr);
}

}  // namespace

FaultGuard::FaultGuard() {
#ifndef RECTO_SIMT_ASAN
  static std::once_flag installed;
  std::call_once(installed, install_handlers);
  handler_stack_ = std::make_unique<std::byte[]>(kHandlerStackBytes);
  const stack_t stack = {handler_stack_.get(), 0, kHandlerStackBytes};
  sigaltstack(&stack, nullptr);
#endif
}

FaultGuard::~FaultGuard() {
  if (handler_stack_ == nullptr) return;
  const stack_t none = {nullptr, SS_DISABLE, 0};
  sigaltstack(&none, nullptr);
}

}  // namespace recto::simt

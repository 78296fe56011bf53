#pragma once

// Turns what would crash or hang the program in a kernel into findings: a machine fault (a null
// pointer, unmapped memory, a stack overflow) and an endless loop. A fault anywhere else ends the
// program, as usual. Under sanitizers, faults are left to them.

#include <signal.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>

namespace recto::simt {

class Scheduler;

// While it lives, guards the kernels that this OS thread runs through `scheduler`.
class FaultGuard {
 public:
  // A kernel that takes no step for `stall_seconds` is considered to spin.
  FaultGuard(const Scheduler& scheduler, unsigned stall_seconds);
  ~FaultGuard();
  FaultGuard(const FaultGuard&) = delete;
  FaultGuard& operator=(const FaultGuard&) = delete;

 private:
  std::unique_ptr<std::byte[]> handler_stack_;
  stack_t replaced_stack_ = {};
};

}  // namespace recto::simt

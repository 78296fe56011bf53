#pragma once

// Turns events that would crash or hang the program in a kernel into findings: a machine fault (a
// null pointer, unmapped memory, a stack overflow) and an endless loop. A fault anywhere else ends
// the program, as usual. Under sanitizers, faults are left to them: reports of AddressSanitizer,
// UBSan and MemorySanitizer name a file and a line, and an additional line names kernel, thread
// block and thread.

#include <signal.h>
#include <time.h>

#include <cstddef>
#include <memory>

namespace recto::simt {

// While it lives, it guards the kernels that this OS thread runs. Not reentrant.
class FaultGuard {
 public:
  // A kernel whose scheduler counts no step for `stall_seconds` is considered to spin.
  explicit FaultGuard(unsigned stall_seconds);
  ~FaultGuard();
  FaultGuard(const FaultGuard&) = delete;
  FaultGuard& operator=(const FaultGuard&) = delete;

 private:
  std::unique_ptr<std::byte[]> handler_stack_;
  stack_t replaced_stack_ = {};
  timer_t each_second_ = {};
};

}  // namespace recto::simt

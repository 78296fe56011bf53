#pragma once

// Keeps what a kernel does to itself from ending the program: a fault of the machine (a null
// pointer, memory that is not there, a stack that is full) and a loop without end become findings.
// A fault anywhere else ends the program, as ever. Under sanitizers faults are theirs.

#include <signal.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>

namespace recto::simt {

class Scheduler;

// While it lives, it guards the kernels that this OS thread runs by `scheduler`.
class FaultGuard {
 public:
  // A kernel that takes no step for so long is taken to spin.
  FaultGuard(const Scheduler& scheduler, unsigned stall_seconds);
  ~FaultGuard();
  FaultGuard(const FaultGuard&) = delete;
  FaultGuard& operator=(const FaultGuard&) = delete;

 private:
  std::unique_ptr<std::byte[]> handler_stack_;
  stack_t replaced_stack_ = {};
};

}  // namespace recto::simt

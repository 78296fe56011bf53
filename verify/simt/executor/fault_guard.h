#pragma once

// Turns a fault of the machine in a kernel (a null pointer, memory that is not there, a stack that
// is full) into a finding. A fault anywhere else ends the program, as ever. Nothing is done under
// AddressSanitizer, which reports faults itself.

#include <cstddef>
#include <memory>

namespace recto::simt {

// While it lives, faults of kernels on this OS thread are caught.
class FaultGuard {
 public:
  FaultGuard();
  ~FaultGuard();
  FaultGuard(const FaultGuard&) = delete;
  FaultGuard& operator=(const FaultGuard&) = delete;

 private:
  std::unique_ptr<std::byte[]> handler_stack_;
};

}  // namespace recto::simt

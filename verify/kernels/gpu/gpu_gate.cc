// Without a GPU, ends a test program as skipped before its first test case. With one, makes all of
// its allocations managed.

#include <errno.h>

#include <cstdlib>
#include <iostream>

#include "bazel/testing/catch.h"
#include "verify/kernels/gpu/launches.h"
#include "verify/kernels/gpu/managed_memory.h"

namespace recto::verify {
namespace {

struct GpuGate {
  GpuGate() {
    const char* why = gpu::why_no_gpu();
    if (why == nullptr) return;
    std::cout << "SKIPPED: " << program_invocation_short_name << ": no GPU: " << why << std::endl;
    std::_Exit(0);
  }
};

struct ManagedFromTheStart {
  ManagedFromTheStart() { gpu::manage_heap(); }
};

// Constructed before all objects without an init_priority.
__attribute__((init_priority(101))) const ManagedFromTheStart kManaged;
const GpuGate kGate;

}  // namespace
}  // namespace recto::verify

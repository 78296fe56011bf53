// Ends a test program where there is no GPU, before its first test case, as one that was skipped.

#include <errno.h>

#include <cstdlib>
#include <iostream>

#include "bazel/testing/catch.h"
#include "verify/gpu/launches.h"

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

const GpuGate kGate;

}  // namespace
}  // namespace recto::verify

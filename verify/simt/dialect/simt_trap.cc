// Replaces the function that the C library's assert() calls: in a kernel the failure is a finding.

#include "verify/simt/dialect/simt_trap.h"

#include <cstdio>
#include <cstdlib>

extern "C" void __assert_fail(const char* condition, const char* file, unsigned line,
                              const char* function) noexcept {
  if (recto::simt::current_thread == nullptr) {
    std::fprintf(stderr, "%s:%u: %s: assertion '%s' failed\n", file, line, function, condition);
    std::abort();
  }
  // Nothing here may own memory: the call does not return.
  recto::simt::device::fail("fails assert({})", condition, {file, static_cast<int>(line)});
}

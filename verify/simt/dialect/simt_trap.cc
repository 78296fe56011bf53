// What the C library's assert() calls, in its place: in a kernel it is a finding.

#include "verify/simt/dialect/simt_trap.h"

#include <cstdio>
#include <cstdlib>
#include <string>

extern "C" void __assert_fail(const char* condition, const char* file, unsigned line,
                              const char* function) noexcept {
  if (recto::simt::current_thread == nullptr) {
    std::fprintf(stderr, "%s:%u: %s: assertion '%s' failed\n", file, line, function, condition);
    std::abort();
  }
  const std::string what = "fails assert(" + std::string(condition) + ")";
  recto::simt::device::fail(what.c_str(), {file, static_cast<int>(line)});
}

#pragma once

// A kernel that gives up. assert() is the host's; simt_trap.cc handles its failure.

#include <cassert>

#include "verify/simt/dialect/simt_warp.h"
#include "verify/simt/executor/device_api.h"

[[noreturn]] inline void __trap(RECTO_SIMT_SITE) {
  recto::simt::device::fail("calls {}", "__trap", site);
}

// assert() calls this when it fails.
extern "C" __attribute__((noreturn)) void __assert_fail(const char* condition, const char* file,
                                                        unsigned line,
                                                        const char* function) noexcept;

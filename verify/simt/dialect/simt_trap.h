#pragma once

// A kernel that gives up. assert() is the host's; what it does when it fails is in simt_trap.cc.

#include <cassert>

#include "verify/simt/dialect/simt_warp.h"
#include "verify/simt/executor/device_api.h"

[[noreturn]] inline void __trap(RECTO_SIMT_SITE) {
  recto::simt::device::fail("calls {}", "__trap", site);
}

// What assert() calls when it fails.
extern "C" __attribute__((noreturn)) void __assert_fail(const char* condition, const char* file,
                                                        unsigned line,
                                                        const char* function) noexcept;

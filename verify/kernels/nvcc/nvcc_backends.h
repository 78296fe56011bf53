#pragma once

// The host API and its kernels as nvcc compiles them, on the executor of verify/ptx, as backends.
// Each runs in a process of its own, as a kernel library.

#include <string>

#include "core/status.h"
#include "verify/backend.h"

namespace recto::verify {

inline constexpr const char* kNvccTargets[] = {"sm80", "sm90"};

// The library for a target: in the folder that RECTO_NVCC_KERNELS names, or where Bazel puts it
// beside the program. Failed if it is not built.
Result<std::string> nvcc_library(const std::string& target);

// "ptx-sm80" for "sm80". The library is loaded by the first call.
Backend nvcc_backend(const std::string& target, const std::string& library);

}  // namespace recto::verify

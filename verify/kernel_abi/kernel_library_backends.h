#pragma once

// The kernels of a shared library as implementations under test: every law, and the oracle, run on
// them.

#include <string>
#include <vector>

#include "core/status.h"
#include "verify/backend.h"
#include "verify/kernel_abi/kernel_library.h"
#include "verify/law.h"

namespace recto::verify {

// What a library is put to: its functions as backends, "NAME decode", "NAME prefill" and "NAME
// kv_write", as far as it has them; and the law of writing, which is about the last one alone.
struct KernelLibraryTrial {
  std::vector<Backend> backends;
  std::vector<Law> laws;  // beside those of attention
};

// Attention is judged by reference::third_party_numerics. A call that goes wrong throws a
// FailureOfKind with what KernelLibrary says of it, which runners of laws take for a failure.
// Errors of KernelLibrary::open.
Result<KernelLibraryTrial> kernel_library_trial(const std::string& path,
                                                const KernelLibraryOptions& options = {});

// The backends alone.
Result<std::vector<Backend>> kernel_library_backends(const std::string& path,
                                                     const KernelLibraryOptions& options = {});

}  // namespace recto::verify

#pragma once

// The kernels of a shared library as backends, for every law and the oracle.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/attention_views.h"
#include "core/status.h"
#include "verify/backend.h"
#include "verify/law.h"
#include "verify/library/kernel_library.h"

namespace recto::verify {

using WriteObserver = std::function<void(const KvWriteInputs&)>;

// What a library is tested with: its functions as backends, "NAME decode", "NAME prefill" and "NAME
// kv_write"; and the law of KV writes, which applies only to the last one.
struct LibraryUnderTest {
  std::vector<Backend> backends;
  std::vector<Law> laws;  // in addition to those of attention
  // Sets the observer of each supported write from now on; empty: none.
  std::function<void(WriteObserver)> set_write_observer = {};
};

// Attention is judged by reference::third_party_numerics, with what the options declare.
LibraryUnderTest library_under_test(const std::shared_ptr<KernelLibrary>& library);

// The same of a file. Same errors as KernelLibrary::open.
Result<LibraryUnderTest> library_under_test(const std::string& path,
                                            const KernelLibraryOptions& options = {});

// Returns only the backends.
Result<std::vector<Backend>> kernel_library_backends(const std::string& path,
                                                     const KernelLibraryOptions& options = {});

}  // namespace recto::verify

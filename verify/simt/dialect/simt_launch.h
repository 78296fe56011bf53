#pragma once

// Kernel launches, which both halves of the dialect have.

#include <cstddef>
#include <type_traits>

#include "verify/simt/dialect/simt_types.h"
#include "verify/simt/streams/stream.h"

using KernelStream = recto::simt::Stream*;

// The configuration of a launch.
struct KernelLaunch {
  dim3 grid = {};
  dim3 block = {};
  std::size_t dynamic_shared_bytes = 0;
  KernelStream stream = nullptr;
  bool is_cooperative = false;
  bool may_begin_early = false;  // the executor runs kernels of a stream one after the other
};

// The outcome: null, or the error.
struct KernelStatus {
  const char* error = nullptr;
};

// Copies from the device to the host, then waits for the stream.
inline KernelStatus read_back(void* host, const void* device, std::size_t bytes,
                              KernelStream stream) {
  if (stream == nullptr) return {"expected a stream of the executor, got null"};
  stream->copy(host, device, bytes);
  stream->synchronise();
  return {};
}

template <typename... Parameters>
KernelStatus launch_kernel(const recto::simt::LaunchName& name, const KernelLaunch& how,
                           void (*kernel)(Parameters...),
                           std::type_identity_t<Parameters>... arguments) {
  static_assert((std::is_trivially_copyable_v<Parameters> && ...),
                "a kernel's arguments are copied byte by byte");
  if (how.stream == nullptr) return {"expected a stream of the executor, got null"};
  recto::simt::LaunchConfig config = {name.text, how.grid, how.block, how.dynamic_shared_bytes,
                                      how.is_cooperative};
  config.site = name.site;
  const bool is_valid = how.stream->launch(config, kernel, arguments...);
  if (kernel == nullptr) return {"expected a kernel, got null"};
  return {is_valid ? nullptr : "invalid configuration argument"};
}

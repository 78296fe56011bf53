#pragma once

// The kernels that move K and V, as entries of the list of backends. They compute no attention:
// each has its own laws.

#include <span>
#include <string>
#include <vector>

#include "verify/kernels/device_call.h"
#include "verify/law.h"

namespace recto::verify {

struct CacheKernel {
  const char* name;
  const char* kernel;  // as cuda/instantiations.h names it
  const char* about;
  // Laws for the backend of this name, run with `how`.
  std::vector<Law> (*laws)(const std::string& backend, const KernelRun& how);
};

std::span<const CacheKernel> cache_kernels();

}  // namespace recto::verify

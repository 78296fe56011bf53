// The GPU's sticky error.

#include "verify/kernels/device_loss.h"

#include "verify/kernels/gpu/launches.h"
#include "verify/kernels/gpu/managed_memory.h"

namespace recto::verify {

std::optional<std::string> why_device_lost() {
  // Before that, CUDA is not used.
  if (!gpu::is_heap_managed()) return std::nullopt;
  const char* const why = gpu::why_lost();
  return why == nullptr ? std::nullopt : std::optional<std::string>(why);
}

}  // namespace recto::verify

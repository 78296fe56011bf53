#include "verify/library/kernel_device.h"

namespace recto::verify {

// This program's kernels run on the executor.
KernelDevice* kernel_device() { return nullptr; }

}  // namespace recto::verify

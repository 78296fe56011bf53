#include "verify/library/kernel_device.h"

namespace recto::verify {

// The kernels of this program run on the executor.
KernelDevice* kernel_device() { return nullptr; }

}  // namespace recto::verify

// Makes the heap managed memory.

#include "verify/kernels/kernel_heap.h"

#include "verify/kernels/gpu/managed_memory.h"

namespace recto::verify {

void let_kernels_reach_heap() { gpu::manage_heap(); }

}  // namespace recto::verify

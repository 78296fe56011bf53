// Launch functions that take an executor's stream. They ignore it and run on the GPU.

#include "cuda/kernels/gqa_decode.h"
#include "cuda/kernels/tma_decode.h"
#include "verify/kernels/gpu/launches.h"

#include <kernel_dialect.h>

namespace recto::kernels {

#define RECTO_DEFINE(function, parameters)                                      \
  Status launch_##function(const parameters& params, KernelStream /*stream*/) { \
    return verify::gpu::function(params);                                       \
  }
RECTO_GPU_LAUNCHES(RECTO_DEFINE)
#undef RECTO_DEFINE

}  // namespace recto::kernels

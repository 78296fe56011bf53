#include "cuda/kernels/contents_check.cuh"

#include <kernel_dialect.h>

#include "cuda/kernels/dispatch.cuh"

namespace recto::kernels {

Status launch_contents_check(const ContentsCheckParams& params, KernelStream stream) {
  const KernelLaunch how = {.grid = dim3(1), .block = dim3(kContentsThreads), .stream = stream};
  return launch_served("contents_check", how, &contents_check, params);
}

}  // namespace recto::kernels

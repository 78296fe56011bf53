#include "verify/gpu/launches.h"

#include <cuda_runtime.h>
#include <kernel_dialect.h>

#include "cuda/kernels/bulk_decode.h"
#include "cuda/kernels/group_decode.h"
#include "cuda/paged_attention.h"

namespace recto::verify::gpu {
namespace {

const char* finished() {
  const cudaError_t error = cudaDeviceSynchronize();
  return error == cudaSuccess ? nullptr : cudaGetErrorString(error);
}

Status finished_after(const Status& launched) {
  if (!launched.is_ok()) return launched;
  const char* error = finished();
  return error == nullptr ? Status::ok() : Status::failed(error);
}

}  // namespace

const char* why_no_gpu() {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess) return cudaGetErrorString(error);
  return count == 0 ? "no device" : nullptr;
}

#define RECTO_DEFINE(function, parameters)                              \
  Status function(const kernels::parameters& params) {                  \
    return finished_after(kernels::launch_##function(params, nullptr)); \
  }
RECTO_GPU_LAUNCHES(RECTO_DEFINE)
#undef RECTO_DEFINE

Status attention(const AttentionPlan& plan, const PagedAttentionInputs& inputs,
                 const AttentionOutputs& outputs, const Workspace& workspace) {
  return finished_after(run_attention(plan, inputs, outputs, workspace, nullptr));
}

Status decode_step(const AttentionPlan& plan, const DecodeStep& step,
                   const AttentionOutputs& outputs, const Workspace& workspace) {
  return finished_after(run_decode_step(plan, step, outputs, workspace, nullptr));
}

}  // namespace recto::verify::gpu

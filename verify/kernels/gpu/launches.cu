#include "verify/kernels/gpu/launches.h"

#include <cuda_runtime.h>
#include <kernel_dialect.h>

#include "cuda/cache_ops.h"
#include "cuda/kernels/gqa_decode.h"
#include "cuda/kernels/paged_prefill_hopper.h"
#include "cuda/kernels/tma_decode.h"
#include "cuda/paged_attention.h"

namespace recto::verify::gpu {
namespace {

const char* finished() {
  const cudaError_t error = cudaDeviceSynchronize();
  return error == cudaSuccess ? nullptr : cudaGetErrorString(error);
}

Status finished_after(const Status& launched) {
  // Waits even after a failed launch: earlier launches of the call may still use its memory.
  const char* error = finished();
  if (!launched.is_ok()) return launched;
  return error == nullptr ? Status::ok() : Status::failed(error);
}

}  // namespace

const char* why_no_gpu() {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess) return cudaGetErrorString(error);
  return count == 0 ? "no device" : nullptr;
}

bool is_hopper() { return kernels::is_on_hopper(); }

// Both waiting and asking for the last error report a sticky error.
const char* why_lost() {
  (void)cudaDeviceSynchronize();
  (void)cudaGetLastError();
  return finished();
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

Status kv_write_call(const KvWriteInputs& inputs, kernels::RepeatedSlots repeated,
                     const CacheOpOptions& options) {
  return finished_after(run_kv_write(inputs, repeated, options, nullptr));
}

Status block_copy_call(const MutablePagedKvView& kv, std::span<const BlockPair> copies,
                       const CacheOpOptions& options) {
  return finished_after(run_block_copy(kv, copies, options, nullptr));
}

Status block_swap_call(const PagedKvView& from, const MutablePagedKvView& to,
                       std::span<const BlockPair> copies, const CacheOpOptions& options) {
  return finished_after(run_block_swap(from, to, copies, options, nullptr));
}

Status gather_call(const GatherInputs& inputs, std::int64_t max_context_length,
                   const CacheOpOptions& options) {
  return finished_after(run_gather(inputs, max_context_length, options, nullptr));
}

// Relaxed, because kernels may be loaded lazily at their first launch.
Status capture(const AttentionPlan& plan, const DecodeStep& step, const AttentionOutputs& outputs,
               const Workspace& workspace, StepGraph& graph) {
  cudaStream_t stream = nullptr;
  cudaGraph_t captured = nullptr;
  cudaGraphExec_t executable = nullptr;
  std::size_t size = 0;
  cudaError_t error = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  if (error != cudaSuccess) return Status::failed(cudaGetErrorString(error));
  error = cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed);
  const Status launched = error == cudaSuccess
                              ? run_decode_step(plan, step, outputs, workspace, stream)
                              : Status::failed(cudaGetErrorString(error));
  if (error == cudaSuccess) error = cudaStreamEndCapture(stream, &captured);
  if (error == cudaSuccess) error = cudaGraphGetNodes(captured, nullptr, &size);
  if (error == cudaSuccess) error = cudaGraphInstantiate(&executable, captured, 0);
  if (captured != nullptr) cudaGraphDestroy(captured);
  cudaStreamDestroy(stream);
  (void)cudaGetLastError();  // clears the error, which is reported here only
  if (error == cudaSuccess && launched.is_ok()) {
    graph = {executable, size};
    return Status::ok();
  }
  if (executable != nullptr) cudaGraphExecDestroy(executable);
  return launched.is_ok() ? Status::failed(cudaGetErrorString(error)) : launched;
}

Status replay(const StepGraph& graph) {
  const cudaError_t error =
      cudaGraphLaunch(static_cast<cudaGraphExec_t>(graph.executable), nullptr);
  return finished_after(error == cudaSuccess ? Status::ok()
                                             : Status::failed(cudaGetErrorString(error)));
}

void destroy(StepGraph& graph) {
  if (graph.executable == nullptr) return;
  cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(graph.executable));
  graph = {};
}

}  // namespace recto::verify::gpu

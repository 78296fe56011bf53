#pragma once

// For tests: functions of CUDA's runtime, and a kernel in PTX with the memory that it may touch.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bazel/testing/catch.h"
#include "verify/library/cudart/device.h"

// NOLINTBEGIN: NVIDIA's names
using recto::cudart::CudaCopyKind;
using recto::cudart::CudaDim3;
using recto::cudart::CudaError;
using recto::cudart::CudaLaunchConfig;
extern "C" {
CudaError cudaLaunchKernel(const void*, CudaDim3, CudaDim3, void**, std::size_t, void*);
CudaError cudaLaunchKernelExC(const CudaLaunchConfig*, const void*, void**);
unsigned __cudaPushCallConfiguration(CudaDim3, CudaDim3, std::size_t, void*);
CudaError __cudaPopCallConfiguration(CudaDim3*, CudaDim3*, std::size_t*, void*);
CudaError cudaFuncSetAttribute(const void*, int, int);
CudaError cudaMalloc(void**, std::size_t);
CudaError cudaFree(void*);
CudaError cudaMemcpy(void*, const void*, std::size_t, CudaCopyKind);
CudaError cudaMemcpyAsync(void*, const void*, std::size_t, CudaCopyKind, void*);
CudaError cudaMemcpyToSymbol(const void*, const void*, std::size_t, std::size_t, CudaCopyKind);
CudaError cudaMemsetAsync(void*, int, std::size_t, void*);
CudaError cudaStreamCreate(void**);
CudaError cudaStreamCreateWithFlags(void**, unsigned);
CudaError cudaStreamDestroy(void*);
CudaError cudaStreamSynchronize(void*);
CudaError cudaStreamWaitEvent(void*, void*, unsigned);
CudaError cudaStreamBeginCapture(void*, int);
CudaError cudaStreamEndCapture(void*, void**);
CudaError cudaEventCreate(void**);
CudaError cudaEventRecord(void*, void*);
CudaError cudaEventDestroy(void*);
CudaError cudaGraphInstantiate(void**, void*, unsigned long long);
CudaError cudaGraphLaunch(void*, void*);
CudaError cudaGraphDestroy(void*);
CudaError cudaGraphExecDestroy(void*);
CudaError cudaGetLastError();
CudaError cudaPeekAtLastError();
const char* cudaGetErrorString(CudaError);
const char* cudaGetErrorName(CudaError);
}
// NOLINTEND

namespace recto::cudart {

// y[i] = x[i] + offset for one element per thread; `offset` is a variable of the module.
inline constexpr const char* kPtx = R"(.version 8.0
.target sm_80
.address_size 64
.const .align 4 .u32 offset = 1;
.visible .entry _Z3addPKjPj(.param .u64 x, .param .u64 y)
{
.reg .b32 %r<4>;
.reg .b64 %rd<4>;
mov.u32 %r1, %tid.x;
mul.wide.u32 %rd1, %r1, 4;
ld.param.u64 %rd2, [x];
add.s64 %rd2, %rd2, %rd1;
ld.global.u32 %r2, [%rd2];
ld.const.u32 %r3, [offset];
add.u32 %r2, %r2, %r3;
ld.param.u64 %rd3, [y];
add.s64 %rd3, %rd3, %rd1;
st.global.u32 [%rd3], %r2;
ret;
}
)";

inline constexpr int kThreads = 32;
inline constexpr std::size_t kBytes = kThreads * sizeof(std::uint32_t);

inline const char kAddKernel = 0;  // what host code has for them
inline const char kOffsetVariable = 0;

inline Device& device() {
  static Device& device = [&]() -> Device& {
    Modules& modules = Device::instance().modules();
    RegisteredModule& module = modules.add(kPtx);
    modules.add_kernel(module, &kAddKernel, "_Z3addPKjPj");
    modules.add_variable(module, &kOffsetVariable, "offset");
    return Device::instance();
  }();
  return device;
}

inline CudaError launch_add(const void* x, void* y, void* stream = nullptr,
                            unsigned threads = kThreads, std::size_t shared_bytes = 0) {
  void* arguments[] = {&x, &y};
  return cudaLaunchKernel(&kAddKernel, {1, 1, 1}, {threads, 1, 1}, arguments, shared_bytes, stream);
}

// Two arrays of the host that kernels may touch.
struct Arrays {
  Arrays() : x(kThreads, 5), y(kThreads, 0) {
    const auto add = [this](const char* name, auto& array, simt::BufferUse use) {
      REQUIRE(memory
                  .add({.name = name,
                        .data = reinterpret_cast<std::byte*>(array.data()),
                        .bytes = kBytes,
                        .use = use})
                  .is_ok());
    };
    add("x", x, simt::BufferUse::kReadOnly);
    add("y", y, simt::BufferUse::kWriteFirst);
  }
  void begin(const RunOptions& options = {}) { device().begin_run(memory, options); }

  std::vector<std::uint32_t> x;
  std::vector<std::uint32_t> y;
  simt::DeviceMemory memory;
};

}  // namespace recto::cudart

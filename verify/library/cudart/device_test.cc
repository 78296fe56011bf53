// CUDA's runtime on the executor: launches, memory, errors. Kernels are written in PTX here;
// verify/library/cuda_source tests those that nvcc compiles.

#include "verify/library/cudart/device.h"

#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "verify/library/cudart/device_test_parts.h"

namespace recto::cudart {
namespace {

using Catch::Matchers::ContainsSubstring;

TEST_CASE("a launch runs, and its findings name kernel, buffer and thread") {
  Arrays arrays;
  arrays.begin();
  CHECK(launch_add(arrays.x.data(), arrays.y.data()) == cudaSuccess);
  CHECK(device().end_run().empty());
  CHECK(arrays.y == std::vector<std::uint32_t>(kThreads, 6));
  arrays.begin();
  CHECK(launch_add(arrays.x.data(), arrays.y.data(), nullptr, kThreads + 1) == cudaSuccess);
  CHECK_THAT(device().end_run(),
             ContainsSubstring("out of bounds in kernel 'add': ") &&
                 ContainsSubstring("thread 32 (warp 1, lane 0) of block (0, 0, 0) reads 4 bytes of "
                                   "memory 0 bytes past the end of x (128 bytes)"));
}

TEST_CASE("a pushed launch configuration is popped once, unchanged") {
  Arrays arrays;
  arrays.begin();
  void* stream = nullptr;
  CHECK(cudaStreamCreate(&stream) == cudaSuccess);
  CHECK(__cudaPushCallConfiguration({2, 3, 4}, {5, 6, 7}, 8, stream) == 0);
  CudaDim3 grid = {};
  CudaDim3 block = {};
  std::size_t shared_bytes = 0;
  void* given = nullptr;
  CHECK(__cudaPopCallConfiguration(&grid, &block, &shared_bytes, &given) == cudaSuccess);
  CHECK((grid.x == 2 && grid.z == 4 && block.y == 6 && shared_bytes == 8 && given == stream));
  CHECK(__cudaPopCallConfiguration(&grid, &block, &shared_bytes, &given) != cudaSuccess);
  CHECK(cudaStreamDestroy(stream) == cudaSuccess);
}

TEST_CASE("launches that CUDA refuses are errors of the host, and findings") {
  Arrays arrays;
  arrays.begin();
  CHECK(launch_add(arrays.x.data(), arrays.y.data(), nullptr, 1025) ==
        cudaErrorInvalidConfiguration);
  CHECK(cudaPeekAtLastError() == cudaErrorInvalidConfiguration);
  CHECK(cudaGetLastError() == cudaErrorInvalidConfiguration);
  CHECK(cudaGetLastError() == cudaSuccess);
  CHECK_THAT(cudaGetErrorString(cudaErrorInvalidConfiguration), ContainsSubstring("configuration"));
  CHECK(std::string(cudaGetErrorName(cudaErrorInvalidConfiguration)) ==
        "cudaErrorInvalidConfiguration");
  CHECK_THAT(device().end_run(), ContainsSubstring("invalid launch of kernel 'add'"));
  arrays.begin();
  constexpr int kShared = 64 << 10;
  CHECK(launch_add(arrays.x.data(), arrays.y.data(), nullptr, 32, kShared) ==
        cudaErrorInvalidValue);
  CHECK_THAT(device().end_run(), ContainsSubstring("cudaFuncSetAttribute allows 49152"));
  arrays.begin();
  CHECK(cudaFuncSetAttribute(&kAddKernel, 8, kShared) == cudaSuccess);
  CHECK(launch_add(arrays.x.data(), arrays.y.data(), nullptr, 32, kShared) == cudaSuccess);
  CHECK(device().end_run().empty());
  CHECK(cudaFuncSetAttribute(&kAddKernel, 8, 1 << 20) == cudaErrorInvalidValue);
  const int unknown = 0;
  void* arguments[] = {nullptr};
  CHECK(cudaLaunchKernel(&unknown, {1, 1, 1}, {1, 1, 1}, arguments, 0, nullptr) ==
        cudaErrorInvalidDeviceFunction);
  // So is a kernel whose attributes are set before its launch, as host code mostly does.
  arrays.begin();
  CHECK(cudaFuncSetAttribute(&unknown, 8, kShared) == cudaErrorInvalidDeviceFunction);
  CHECK_THAT(device().end_run(), ContainsSubstring("expected a kernel of a registered module"));
}

TEST_CASE("thread blocks are launched in clusters, which divide the grid") {
  Arrays arrays;
  const void* x = arrays.x.data();
  void* y = arrays.y.data();
  void* arguments[] = {&x, &y};
  for (const unsigned blocks : {2U, 3U}) {
    CudaLaunchAttribute attribute = {.id = 4, .padding = 0, .value = {}};
    attribute.value.cluster = {2, 1, 1};
    const CudaLaunchConfig config = {.grid = {blocks, 1, 1},
                                     .block = {kThreads, 1, 1},
                                     .dynamic_shared_bytes = 0,
                                     .stream = nullptr,
                                     .attributes = &attribute,
                                     .num_attributes = 1};
    arrays.begin({.launch = {}});  // both thread blocks write all of y
    CHECK(cudaLaunchKernelExC(&config, &kAddKernel, arguments) == cudaSuccess);
    const std::string findings = device().end_run();
    CHECK(findings.empty() == (blocks == 2));
    if (blocks == 3) CHECK_THAT(findings, ContainsSubstring("clusters of (2, 1, 1)"));
  }
  CHECK(arrays.y == std::vector<std::uint32_t>(kThreads, 6));
}

TEST_CASE("memory that the host program allocates is uninitialised until it is written") {
  Arrays arrays;
  arrays.begin();
  void* memory = nullptr;
  CHECK(cudaMalloc(&memory, kBytes) == cudaSuccess);
  CHECK(launch_add(memory, arrays.y.data()) == cudaSuccess);
  CHECK_THAT(device().end_run(), ContainsSubstring("uninitialised read") &&
                                     ContainsSubstring("cudaMalloc 1+0, which was never written"));
  arrays.begin();
  CHECK(cudaMemcpy(memory, arrays.x.data(), kBytes, kHostToDevice) == cudaSuccess);
  CHECK(launch_add(memory, arrays.y.data()) == cudaSuccess);
  CHECK(device().end_run().empty());
  CHECK(arrays.y[0] == 6);
  arrays.begin();
  CHECK(cudaFree(memory) == cudaSuccess);
  CHECK(cudaFree(memory) == cudaErrorInvalidValue);
  CHECK(launch_add(memory, arrays.y.data()) == cudaSuccess);
  CHECK_THAT(device().end_run(), ContainsSubstring("out of bounds in kernel 'add'"));
}

TEST_CASE("copies stay in bounds, and write nothing that is read-only") {
  Arrays arrays;
  std::vector<std::uint32_t> own(2 * kThreads);
  arrays.begin();
  CHECK(cudaMemcpy(arrays.y.data(), own.data(), 2 * kBytes, kHostToDevice) != cudaSuccess);
  CHECK_THAT(device().end_run(),
             ContainsSubstring("a copy writes 256 bytes of y+0, which has 128 bytes"));
  arrays.begin();
  cudaMemcpyAsync(arrays.x.data(), own.data(), 4, kHostToDevice, nullptr);
  CHECK_THAT(device().end_run(),
             ContainsSubstring("write to read-only memory") && ContainsSubstring("x+0"));
  arrays.begin();
  CHECK(cudaMemcpy(own.data(), arrays.x.data(), kBytes, kDeviceToHost) == cudaSuccess);
  CHECK(device().end_run().empty());
  CHECK(own[31] == 5);
}

TEST_CASE("variables of modules can be written by the host") {
  Arrays arrays;
  arrays.begin();
  const std::uint32_t ten = 10;
  const std::uint32_t one = 1;
  CHECK(cudaMemcpyToSymbol(&kOffsetVariable, &ten, 4, 0, kHostToDevice) == cudaSuccess);
  CHECK(launch_add(arrays.x.data(), arrays.y.data()) == cudaSuccess);
  CHECK(device().end_run().empty());
  CHECK(arrays.y[0] == 15);
  CHECK(cudaMemcpyToSymbol(&kOffsetVariable, &one, 4, 0, kHostToDevice) == cudaSuccess);
  CHECK(cudaMemcpyToSymbol(&kOffsetVariable, &one, 4, 4, kHostToDevice) == cudaErrorInvalidValue);
  CHECK(cudaMemcpyToSymbol(&ten, &one, 4, 0, kHostToDevice) == cudaErrorInvalidSymbol);
}

}  // namespace
}  // namespace recto::cudart

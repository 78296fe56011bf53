// Streams, events and graphs of host code.

#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "verify/library/cudart/device_test_parts.h"

namespace recto::cudart {
namespace {

// Copies x to the device on one stream, and reads it on another, with an event between them or
// without.
std::vector<std::uint32_t> two_streams(bool has_event, simt::HostOrder order) {
  Arrays arrays;
  void* memory = nullptr;
  arrays.begin({.launch = {}, .order = order});
  CHECK(cudaMalloc(&memory, kBytes) == cudaSuccess);
  void* first = nullptr;
  void* second = nullptr;
  void* event = nullptr;
  cudaStreamCreateWithFlags(&first, 1);
  cudaStreamCreateWithFlags(&second, 1);
  cudaEventCreate(&event);
  cudaMemcpyAsync(memory, arrays.x.data(), kBytes, kHostToDevice, first);
  cudaEventRecord(event, first);
  if (has_event) CHECK(cudaStreamWaitEvent(second, event, 0) == cudaSuccess);
  CHECK(launch_add(memory, arrays.y.data(), second) == cudaSuccess);
  cudaStreamSynchronize(second);
  cudaStreamSynchronize(first);
  CHECK(device().end_run().empty());
  cudaEventDestroy(event);
  cudaStreamDestroy(first);
  cudaStreamDestroy(second);
  cudaFree(memory);
  return arrays.y;
}

TEST_CASE("a forgotten event shows in a late order, and a right program is right in every order") {
  const std::vector<std::uint32_t> right(kThreads, 6);
  for (const simt::HostOrder order :
       {simt::HostOrder::kEager, simt::HostOrder::kLate, simt::HostOrder::kRandom}) {
    CHECK(two_streams(true, order) == right);
  }
  CHECK(two_streams(false, simt::HostOrder::kLate) == std::vector<std::uint32_t>(kThreads, 0));
}

TEST_CASE("the default stream waits for other streams, and they for it") {
  Arrays arrays;
  arrays.begin({.order = simt::HostOrder::kLate});
  void* memory = nullptr;
  void* stream = nullptr;
  cudaMalloc(&memory, kBytes);
  cudaStreamCreate(&stream);
  cudaMemcpyAsync(memory, arrays.x.data(), kBytes, kHostToDevice, stream);
  launch_add(memory, memory);
  launch_add(memory, arrays.y.data(), stream);
  cudaStreamSynchronize(stream);
  CHECK(device().end_run().empty());
  CHECK(arrays.y[0] == 7);
  cudaStreamDestroy(stream);
  cudaFree(memory);
}

TEST_CASE("a captured graph runs as often as it is launched") {
  Arrays arrays;
  arrays.begin();
  void* memory = nullptr;
  void* stream = nullptr;
  void* graph = nullptr;
  void* executable = nullptr;
  cudaMalloc(&memory, kBytes);
  cudaStreamCreate(&stream);
  cudaMemsetAsync(memory, 0, kBytes, stream);
  CHECK(cudaStreamBeginCapture(stream, 0) == cudaSuccess);
  launch_add(memory, memory, stream);
  CHECK(cudaStreamEndCapture(stream, &graph) == cudaSuccess);
  CHECK(cudaGraphInstantiate(&executable, graph, 0) == cudaSuccess);
  for (int i = 0; i < 3; ++i) CHECK(cudaGraphLaunch(executable, stream) == cudaSuccess);
  cudaStreamSynchronize(stream);
  CHECK(device().end_run().empty());
  CHECK(*static_cast<std::uint32_t*>(memory) == 3);
  arrays.begin();
  CHECK(cudaGraphLaunch(executable, stream) == cudaErrorInvalidValue);  // of another run
  cudaGraphDestroy(graph);
  cudaGraphExecDestroy(executable);
  cudaStreamDestroy(stream);
  cudaFree(memory);
}

}  // namespace
}  // namespace recto::cudart

// Launches by <<< and >>> go to the stream that the source names, if it is a stream of the
// executor.

#include <simt_foreign.h>

#include <vector>

#include "bazel/testing/catch.h"

namespace simt_foreign {
namespace {

using recto::simt::Executor;
using recto::simt::HostOrder;
using recto::simt::HostRuntime;
using recto::simt::Stream;

__global__ void add(float* values, float value) { values[threadIdx.x] += value; }

TEST_CASE("a launch goes to the stream of its handle, and without one to the scope's") {
  Executor executor({});
  HostRuntime runtime(executor, {.order = HostOrder::kLate});
  Stream usual(runtime);
  Stream named(runtime);
  std::vector<float> values(8, 0.0F);
  cudaStream_t gone = nullptr;
  {
    const StreamScope scope(usual);
    const StreamHandle handle(named);
    launch("add", {dim3(1), dim3(4), 0, handle.get()}, add, values.data(), 1.0F);
    launch("add", {dim3(1), dim3(4)}, add, values.data() + 4, 2.0F);
    named.synchronise();
    CHECK(values[3] == 1.0F);
    CHECK(values[4] == 0.0F);
    usual.synchronise();
    CHECK(values[4] == 2.0F);
    gone = handle.get();
  }
  // A handle that is unknown or no longer valid counts as a foreign stream.
  const StreamScope scope(usual);
  launch("add", {dim3(1), dim3(4), 0, gone}, add, values.data(), 1.0F);
  named.synchronise();
  CHECK(values[0] == 1.0F);
  usual.synchronise();
  CHECK(values[0] == 2.0F);
}

TEST_CASE("a launch that names its stream needs no scope") {
  Executor executor({});
  Stream stream(executor);
  const StreamHandle handle(stream);
  std::vector<float> values(4, 0.0F);
  launch("add", {dim3(1), dim3(4), 0, handle.get()}, add, values.data(), 3.0F);
  stream.synchronise();
  CHECK(values[0] == 3.0F);
}

}  // namespace
}  // namespace simt_foreign

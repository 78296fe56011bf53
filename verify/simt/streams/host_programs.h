#pragma once

// Host programs for the tests of streams, and the runtime orders under which they run.

#include <cstdint>
#include <vector>

#include "bazel/testing/catch.h"
#include "verify/simt/streams/stream.h"

#include <kernel_dialect.h>

namespace recto::simt {

inline std::vector<HostOptions> all_orders() {
  std::vector<HostOptions> all = {{HostOrder::kEager}, {HostOrder::kLate}};
  for (std::uint64_t seed = 0; seed < 20; ++seed) all.push_back({HostOrder::kRandom, seed});
  return all;
}

// The number of orders that give the wanted result.
template <typename Program>
int count_right(const Program& program, float wanted) {
  int right = 0;
  for (const HostOptions& options : all_orders()) {
    Executor executor({});
    HostRuntime runtime(executor, options);
    if (program(runtime) == wanted) ++right;
  }
  return right;
}

inline const int kOrders = static_cast<int>(all_orders().size());

__global__ inline void add(const float* in, float* out, float value) {
  out[threadIdx.x] = in[threadIdx.x] + value;
}

inline void launch_add(Stream& stream, const float* in, float* out, float value) {
  CHECK(launch_kernel("add", {.block = {4}, .stream = &stream}, add, in, out, value).error ==
        nullptr);
}

// Two kernels on separate streams, between a common beginning and a common end.
inline void fork_and_join(Stream& stream, Stream& side, std::vector<float>& values) {
  Event begun;
  Event done;
  stream.fill(values.data(), 0, 8 * sizeof(float));
  stream.record(begun);
  CHECK(side.wait(begun).is_ok());
  launch_add(stream, values.data(), values.data(), 1.0F);
  launch_add(side, values.data() + 4, values.data() + 4, 2.0F);
  side.record(done);
  CHECK(stream.wait(done).is_ok());
  launch_add(stream, values.data() + 4, values.data(), 10.0F);
}

}  // namespace recto::simt

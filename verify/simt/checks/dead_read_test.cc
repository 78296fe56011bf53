// The checks find dead reads only in kernels built without optimisation: in the optimised build,
// which the other tests use, the compiler has removed them.

#include "verify/simt/checks/testdata/dead_read.cuh"
#include <cstddef>

#include "bazel/testing/catch.h"
#include "verify/simt/checks/checked_run.h"

namespace recto::simt {
namespace {

using Kernel = void (*)(const float* in, float* out, int beyond);

// Reads `beyond` elements further in an input of `count` elements.
LaunchReport read_beyond(Kernel kernel, std::size_t count, int beyond) {
  CheckedRun run;
  const float* in = run.buffer<float>("in", count, BufferUse::kReadOnly);
  auto* out = run.buffer<float>("out", 32, BufferUse::kWriteFirst);
  return run.run({"read", {1}, {32}}, kernel, in, out, beyond);
}

TEST_CASE("a dead read out of bounds is found in a build without optimisation") {
  check_nothing(read_beyond(read_dead_unoptimised, 40, 0));
  check_nothing(read_beyond(read_dead_unoptimised, 40, 8));
  check_finding(read_beyond(read_dead_unoptimised, 40, 9), Check::kOutOfBounds,
                {"dead_read_unoptimised.cu:", "thread 31 ",
                 "reads 4 bytes of memory 0 bytes past the end of in (160 bytes)"});
}

TEST_CASE("the optimiser removes a dead read, and no check sees it") {
  check_nothing(read_beyond(read_dead_optimised, 40, 9));
  // The compiler keeps a read that is used.
  check_finding(
      read_beyond(read_dead_optimised, 31, 0), Check::kOutOfBounds,
      {"dead_read_optimised.cu:", "thread 31 ", "0 bytes past the end of in (124 bytes)"});
}

}  // namespace
}  // namespace recto::simt

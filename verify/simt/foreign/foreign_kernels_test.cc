// What foreign_kernels builds: headers by their labels, and assert() as nvcc has it.

#include <simt_foreign.h>

#include <numeric>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"

void launch_positive_sum(const int* in, int* out);

namespace simt_foreign {
namespace {

struct PositiveSum {
  std::vector<int> in = std::vector<int>(32);
  std::vector<int> out = std::vector<int>(32);

  PositiveSum() { std::iota(in.begin(), in.end(), 1); }

  std::string run() {
    recto::simt::Executor executor({});
    recto::simt::Stream stream(executor);
    const StreamScope scope(stream);
    launch_positive_sum(in.data(), out.data());
    return stream.synchronise().text();
  }
};

TEST_CASE("shared variables of a header that is given by its label are one for the block") {
  PositiveSum sum;
  CHECK(sum.run().empty());
  CHECK(sum.out == std::vector<int>(32, 32 * 33 / 2 - 1000));
}

TEST_CASE("a foreign kernel's assertion is a finding in optimised builds, too") {
  PositiveSum sum;
  sum.in[9] = -1;
  CHECK_THAT(sum.run(),
             Catch::Matchers::ContainsSubstring("assertion in kernel 'sum_positive'") &&
                 Catch::Matchers::ContainsSubstring("positive_sum.cu:6") &&
                 Catch::Matchers::ContainsSubstring("thread 9 (") &&
                 Catch::Matchers::ContainsSubstring("fails assert(in[threadIdx.x] > 0)"));
}

}  // namespace
}  // namespace simt_foreign

// The targets of foreign_kernels: headers given by label, and assert() enabled as with nvcc.

#include <simt_foreign.h>

#include <numeric>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"

#include "verify/simt/foreign/testdata/limited_kernels.h"

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

template <typename Launches>
std::string text_of(const Launches& launches) {
  recto::simt::Executor executor({});
  recto::simt::Stream stream(executor);
  const StreamScope scope(stream);
  launches();
  return stream.synchronise().text();
}

TEST_CASE("a thread block larger than its kernel's __launch_bounds__ is refused") {
  std::vector<float> out(128, 0.0F);
  CHECK(text_of([&] { run_set_ones(out.data(), 64); }) == "");
  CHECK(out[63] == 1.0F);
  out[0] = 0.0F;
  CHECK_THAT(text_of([&] { run_set_ones(out.data(), 65); }),
             Catch::Matchers::StartsWith("invalid launch in kernel 'set_ones<64>': "
                                         "verify/simt/foreign/testdata/limited_kernels.cu:10: ") &&
                 Catch::Matchers::ContainsSubstring(
                     "a block of 65 threads: expected at most 64, the limit of __launch_bounds__"));
  CHECK(out[0] == 0.0F);
}

TEST_CASE("more than 48 KiB of dynamic shared memory are for those who have asked for them") {
  float out = 0.0F;
  const char* error = "";
  const auto run = [&](int bytes) {
    return text_of([&] { error = run_set_by_shared(&out, bytes); });
  };
  CHECK(run(48 << 10) == "");
  CHECK(error == std::string("no error"));
  CHECK(out == 2.0F);
  CHECK_THAT(run(60000), Catch::Matchers::ContainsSubstring(
                             "invalid launch in kernel 'set_by_shared': dynamic shared memory: "
                             "expected at most 49152 bytes") &&
                             Catch::Matchers::ContainsSubstring("cudaFuncSetAttribute"));
  CHECK(error == std::string("invalid configuration argument"));
  CHECK(allow_shared(60000) == 0);
  CHECK(run(60000) == "");
  CHECK(error == std::string("no error"));
  CHECK(allow_shared(300000) != 0);
  CHECK(cudaGetLastError() == cudaErrorInvalidValue);
}

}  // namespace
}  // namespace simt_foreign

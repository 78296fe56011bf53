// The example under every law, with all memory on a stand-in for a device: copies the memory of
// each pointer there before a call, and written memory back after it.

#include <iostream>

#include "bazel/testing/catch.h"
#include "verify/library/kernel_library_report.h"
#include "verify/library/stand_in_device.h"

namespace recto::verify {
namespace {

TEST_CASE("a library that is right on the host is right on a device") {
  testing::StandInDevice device;
  const Result<LawReport> report =
      kernel_library_report("experiments/examples/libpaged_kernel_on_device.so", library_cases(10),
                            {.device = &device}, {.failures_kept = 1});
  REQUIRE(report.status() == Status::ok());
  report.value().print(std::cout);
  CHECK(report.value().passed());
}

}  // namespace
}  // namespace recto::verify

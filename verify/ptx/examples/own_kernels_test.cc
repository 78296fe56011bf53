// This project's kernels as nvcc compiles them: right results, and no findings.

#include "verify/ptx/examples/own_kernels.h"

#include "bazel/testing/catch.h"

namespace recto::ptx {
namespace {

void check_kernel(OwnKernel kernel, const OwnSizes& sizes, double error_max) {
  for (const char* arch : {"80", "90"}) {
    Result<OwnCall> call = OwnCall::prepare(kernel, arch, sizes);
    if (!call.is_ok()) {
      testing::report_skipped(call.status().message());
      return;
    }
    for (const SchedulePolicy policy : simt::kSchedulePolicies) {
      INFO("sm_" << arch << ", " << simt::schedule_policy_name(policy));
      LaunchOptions options{.checks = Checks::all(), .schedule = {.policy = policy, .seed = 1}};
      CHECK(call.value().run(options).text().empty());
      CHECK(call.value().worst_error() < error_max);
    }
    CHECK(call.value().run({}).text().empty());
    CHECK(call.value().worst_error() < error_max);
  }
}

// Weighted means of numbers up to 1/2, with some bits of the sums lost.
constexpr double kFp32Error = 1e-6;
constexpr double kBf16Error = 4e-3;

TEST_CASE("paged decode as nvcc compiles it") {
  check_kernel(OwnKernel::kPagedDecode, {}, kFp32Error);
  check_kernel(OwnKernel::kPagedDecode, {.sequences = 1, .context_length = 1}, kFp32Error);
}

TEST_CASE("split decode and its merge as nvcc compiles them") {
  check_kernel(OwnKernel::kSplitDecode, {.context_length = 200}, kFp32Error);
}

TEST_CASE("prefill as nvcc compiles it, on tensor cores") {
  check_kernel(OwnKernel::kPrefill, {.context_length = 90, .query_length = 37}, kBf16Error);
  check_kernel(OwnKernel::kWidePrefill, {.context_length = 90, .query_length = 37}, kBf16Error);
}

TEST_CASE("a page beyond the pool is found where it is read") {
  Result<OwnCall> call = OwnCall::prepare(OwnKernel::kPagedDecode, "80", {});
  if (!call.is_ok()) return testing::report_skipped(call.status().message());
  call.value().break_block_table();
  const LaunchReport report = call.value().run({});
  REQUIRE(report.findings.size() == 1);
  CHECK(report.findings[0].check == Check::kOutOfBounds);
  CHECK_THAT(report.text(), Catch::Matchers::ContainsSubstring("cuda/kernels/"));
  CHECK_THAT(report.text(), Catch::Matchers::ContainsSubstring("past the end of k "));
}

}  // namespace
}  // namespace recto::ptx

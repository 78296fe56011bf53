// This project's kernels as nvcc compiles them: right results, and no findings.

#include "verify/ptx/examples/own_kernels.h"

#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

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

TEST_CASE("paged decode as nvcc compiles it is right") {
  check_kernel(OwnKernel::kPagedDecode, {}, kFp32Error);
  check_kernel(OwnKernel::kPagedDecode, {.sequences = 1, .context_length = 1}, kFp32Error);
}

TEST_CASE("split decode and its merge as nvcc compiles them are right") {
  check_kernel(OwnKernel::kSplitDecode, {.context_length = 200}, kFp32Error);
}

TEST_CASE("decode on tensor cores as nvcc compiles it is right") {
  check_kernel(OwnKernel::kGqaDecode, {.context_length = 200}, kBf16Error);
  check_kernel(OwnKernel::kGqaDecode, {.sequences = 1, .context_length = 1}, kBf16Error);
}

TEST_CASE("prefill on tensor cores as nvcc compiles it is right") {
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

// What a warp executes for a tile of sixteen keys.
struct TileCounts {
  std::uint64_t products = 0;
  std::uint64_t loads_of_matrices = 0;
  std::uint64_t copies = 0;

  friend bool operator==(const TileCounts&, const TileCounts&) = default;
};

std::string text_of(const TileCounts& counts) {
  return std::to_string(counts.products) + " mma, " + std::to_string(counts.loads_of_matrices) +
         " ldmatrix, " + std::to_string(counts.copies) + " cp.async";
}

// By the machine code: columns 4 to 6 of the golden file. All zeros without such a line.
TileCounts in_machine_code(const std::string& arch, const std::string& kernel) {
  std::ifstream file("cuda/golden/speed/nvcc_13.0.88_sm_" + arch + ".txt");
  for (std::string line; std::getline(file, line);) {
    if (!line.ends_with("  " + kernel)) continue;
    std::istringstream columns(line);
    std::string skipped;
    TileCounts counts;
    columns >> skipped >> skipped >> skipped >> counts.products >> counts.loads_of_matrices >>
        counts.copies;
    return counts;
  }
  return {};
}

Counters counters_of(OwnCall& call) {
  const LaunchReport report = call.run({.counts = true});
  CHECK(report.passed());
  return report.counters;
}

// The golden figures are those of one trip of the hot loop that tools/static_speed finds in machine
// code. PTX has other arithmetic, but the same memory and matrix instructions.
TEST_CASE("a tile of decode takes the memory and matrix instructions that its machine code has") {
  constexpr int kKeys[] = {256, 1280};
  constexpr std::uint64_t kTiles = (1280 - 256) / 16 * 2;  // of two heads of K and V
  for (const char* arch : {"80", "90"}) {
    std::vector<Counters> counters;
    for (const int keys : kKeys) {
      Result<OwnCall> call =
          OwnCall::prepare(OwnKernel::kGqaDecode, arch, {.sequences = 1, .context_length = keys});
      if (!call.is_ok()) return testing::report_skipped(call.status().message());
      counters.push_back(counters_of(call.value()));
    }
    const auto of_tile = [&](Action action) {
      const auto index = static_cast<std::size_t>(action);
      const std::uint64_t more = counters[1].by_action[index] - counters[0].by_action[index];
      CHECK(more % kTiles == 0);
      return more / kTiles;
    };
    const TileCounts executed = {of_tile(Action::kMatrixProduct), of_tile(Action::kLoadMatrix),
                                 of_tile(Action::kAsyncCopy)};
    INFO("sm_" << arch << ": executed " << text_of(executed));
    CHECK(executed == in_machine_code(arch, "GQA decode in whole tiles, bf16/bf16, 64"));
    CHECK(executed.products > 0);
  }
}

}  // namespace
}  // namespace recto::ptx

// Kernels as PTX, which an adapter launches by name: no nvcc is needed.

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "bazel/testing/catch.h"
#include "verify/library/cuda_source/library_builder.h"
#include "verify/library/kernel_library_report.h"

namespace recto::verify {
namespace {

using Catch::Matchers::ContainsSubstring;

constexpr const char* kPtx = "verify/library/cuda_source/row_decode_ptx/row_decode.ptx";

CudaSource row_decode(const std::string& ptx = kPtx) {
  return {.ptx = ptx,
          .adapter = "verify/library/cuda_source/testdata/row_decode_adapter.cc",
          .macros = {"ROW_DECODE_BY_NAME"}};
}

std::string written(const std::string& text) {
  const std::string path = std::string(std::getenv("TEST_TMPDIR")) + "/kernel.ptx";
  std::ofstream(path) << text;
  return path;
}

TEST_CASE("a kernel in PTX passes the oracle, and its faults are reported with their lines") {
  if (!std::filesystem::exists(kPtx)) {
    return testing::report_skipped("there was no nvcc to make PTX of row_decode.cu");
  }
  setenv("RECTO_NVCC", "/nowhere", 1);
  const Result<BuiltLibrary> built = build_cuda_library(row_decode());
  unsetenv("RECTO_NVCC");
  INFO(built.status());
  REQUIRE(built.is_ok());
  DrawnCases cases{.name = "row-decode-ptx", .count = 6};
  cases.domain.types = {{ElementType::kFp32, ElementType::kFp32}};
  cases.domain.layouts = {KvLayout::kTokenMajor};
  cases.domain.rows = {RowsKind::kDecode};
  cases.domain.value_head_dim = ValueHeadDim::kSameAsKeys;
  cases.domain.has_softcap = cases.domain.has_window = false;
  cases.domain.has_alibi = cases.domain.has_sinks = false;
  for (const bool is_racing : {false, true}) {
    setenv("ROW_DECODE_FAULT", is_racing ? "1" : "0", 1);
    const Result<LawReport> report = kernel_library_report(
        built.value().path(), {cases}, {}, {.failures_kept = 1, .shrinking_trials = 4});
    unsetenv("ROW_DECODE_FAULT");
    REQUIRE(report.status().message().empty());
    INFO((report.value().failures.empty() ? "" : report.value().failures[0]));
    CHECK(report.value().passed() == !is_racing);
    if (!is_racing) continue;
    CHECK_THAT(report.value().failures.at(0), ContainsSubstring("race in kernel 'row_decode'") &&
                                                  ContainsSubstring("row_decode.cuh:") &&
                                                  ContainsSubstring("PTX line"));
  }
}

TEST_CASE("wrong PTX is refused before anything is built") {
  CHECK_THAT(build_cuda_library(row_decode("none.ptx")).status().message(),
             ContainsSubstring("none.ptx: expected a file with PTX"));
  CHECK_THAT(build_cuda_library(row_decode(written("int main() {}"))).status().message(),
             ContainsSubstring("kernel.ptx: line 1"));
  CHECK_THAT(
      build_cuda_library(row_decode(written(".version 8.0\n.target sm_80\n"))).status().message(),
      ContainsSubstring("expected PTX with a kernel"));
}

}  // namespace
}  // namespace recto::verify

// Libraries of CUDA sources, as build_cuda_library.py makes them with nvcc: right ones pass all
// laws and the oracle; for faulty ones the executor's finding is reported.

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "verify/library/kernel_library_report.h"

namespace recto::verify {
namespace {

using Catch::Matchers::ContainsSubstring;

constexpr const char* kFolder = "verify/library/cuda_source/";

bool is_skipped() {
  if (std::filesystem::exists(std::string(kFolder) + "row_decode.so")) return false;
  testing::report_skipped("there was no nvcc to build libraries of CUDA sources");
  return true;
}

// Decode steps without options.
DrawnCases plain_cases(const std::string& name, std::uint64_t count) {
  DrawnCases cases{.name = name, .count = count};
  CaseDomain& domain = cases.domain;
  domain.types = {{ElementType::kFp32, ElementType::kFp32}};
  domain.layouts = {KvLayout::kTokenMajor, KvLayout::kHeadMajor};
  domain.rows = {RowsKind::kDecode};
  domain.value_head_dim = ValueHeadDim::kSameAsKeys;
  domain.num_seqs_max = 3;
  domain.num_kv_heads_max = 2;
  domain.has_softcap = domain.has_window = domain.has_alibi = domain.has_sinks = false;
  return cases;
}

// Those cases that the packed extension supports.
DrawnCases packed_cases(const std::string& name, std::uint64_t count) {
  DrawnCases cases = plain_cases(name, count);
  CaseDomain& domain = cases.domain;
  domain.types = {{ElementType::kFp32, ElementType::kFp32},
                  {ElementType::kFp16, ElementType::kFp16},
                  {ElementType::kBf16, ElementType::kBf16},
                  {ElementType::kFp16, ElementType::kE4m3},
                  {ElementType::kBf16, ElementType::kE4m3}};
  domain.has_alibi = true;
  domain.layouts = {KvLayout::kPacked};
  domain.head_dims = {64, 128};
  domain.block_sizes = {8, 16, 32};
  return cases;
}

// The report on a library whose adapter reads that variable.
LawReport report_of_fault(const std::string& library, const char* variable, int fault,
                          const DrawnCases& cases) {
  setenv(variable, std::to_string(fault).c_str(), 1);
  const Result<LawReport> report = kernel_library_report(
      kFolder + library, {cases}, {}, {.failures_kept = 1, .shrinking_trials = 4});
  unsetenv(variable);
  REQUIRE(report.status().message().empty());
  return report.value();
}

// The kernel has several warps, whose atomic operations come in any order.
LawReport row_decode_report(int fault) {
  DrawnCases cases = plain_cases("row-decode", 12);
  cases.domain.head_dims = {64, 128};
  cases.domain.context_max = 100;
  return report_of_fault("row_decode.so", "ROW_DECODE_FAULT", fault, cases);
}

// A few small cases; each runs in three splits, twice.
LawReport merging_decode_report(int fault) {
  DrawnCases cases = plain_cases("merging-decode", 4);
  cases.domain.head_dims = {16, 64};
  cases.domain.context_max = 50;
  cases.domain.num_seqs_max = 2;
  return report_of_fault("merging_decode.so", "MERGING_DECODE_FAULT", fault, cases);
}

std::int64_t held(const LawReport& report) {
  std::int64_t sum = 0;
  for (const LawCount& count : report.counts) sum += count.held;
  return sum;
}

TEST_CASE("a kernel that the adapter launches itself passes all laws") {
  if (is_skipped()) return;
  const LawReport report = row_decode_report(0);
  report.print(std::cout);
  CHECK(report.passed());
  CHECK(held(report) > 20);
}

TEST_CASE("CUDA sources need not write lse_ln") {
  if (is_skipped()) return;
  const auto elements = [](const LawReport& report) {
    std::int64_t sum = 0;
    for (const LawCount& count : report.counts) sum += count.elements;
    return sum;
  };
  const LawReport with = row_decode_report(0);
  setenv("ROW_DECODE_WITHOUT_LSE_LN", "1", 1);
  const LawReport without = row_decode_report(0);
  const LawReport faulty = row_decode_report(1);
  unsetenv("ROW_DECODE_WITHOUT_LSE_LN");
  without.print(std::cout);
  CHECK(without.passed());
  CHECK(held(without) > 20);
  CHECK(elements(without) < elements(with));
  CHECK(faulty.failed() > 0);
}

TEST_CASE("thread blocks that hand over by a counter between fences pass all laws") {
  if (is_skipped()) return;
  const LawReport report = merging_decode_report(0);
  report.print(std::cout);
  CHECK(report.passed());
  CHECK(held(report) > 10);
}

TEST_CASE("a missing fence or barrier between thread blocks is reported with its lines") {
  if (is_skipped()) return;
  // No fence before, none after, a block-wide fence, no barrier.
  for (const int fault : {1, 2, 3, 4}) {
    INFO("fault " << fault);
    const LawReport report = merging_decode_report(fault);
    REQUIRE(report.failed() > 0);
    CHECK_THAT(report.failures.at(0),
               ContainsSubstring("race between thread blocks in kernel 'merging_decode'"));
    CHECK_THAT(report.failures.at(0), ContainsSubstring("merging_decode.cuh:"));
  }
}

TEST_CASE("memory declared for communication between thread blocks is not checked for races") {
  if (is_skipped()) return;
  setenv("MERGING_DECODE_IS_MARKED", "1", 1);
  CHECK(merging_decode_report(1).passed());
  unsetenv("MERGING_DECODE_IS_MARKED");
}

TEST_CASE("a framework's extension passes all laws, in one pass and in partitions") {
  if (is_skipped()) return;
  for (const std::string library : {"packed_decode.so", "packed_decode_partitioned.so"}) {
    const Result<LawReport> report =
        kernel_library_report(kFolder + library, {packed_cases("packed", 5)});
    REQUIRE(report.status().message().empty());
    report.value().print(std::cout);
    CHECK(report.value().passed());
    CHECK(held(report.value()) > 10);
  }
}

TEST_CASE("sums in half precision are distinguished from sums in float") {
  if (is_skipped()) return;
  DrawnCases cases = packed_cases("half-sums", 12);
  cases.domain.types = {{ElementType::kFp16, ElementType::kFp16}};
  const Result<LawReport> report =
      kernel_library_report(std::string(kFolder) + "packed_decode_half_sums.so", {cases});
  REQUIRE(report.status().message().empty());
  CHECK(report.value().failed() > 0);
}

TEST_CASE("faults of a kernel are reported with source lines, even where results are right") {
  if (is_skipped()) return;
  struct Planted {
    int fault;
    const char* expected;
  };
  for (const Planted& planted :
       {Planted{1, "race in kernel 'row_decode'"}, Planted{2, "outside the pieces of owner"},
        Planted{3, "scratch"}, Planted{4, "depends on the schedule"}, Planted{5, "barrier"}}) {
    INFO("fault " << planted.fault);
    const LawReport report = row_decode_report(planted.fault);
    REQUIRE(report.failed() > 0);
    CHECK_THAT(report.failures.at(0), ContainsSubstring(planted.expected));
    if (planted.fault != 4) CHECK_THAT(report.failures.at(0), ContainsSubstring("row_decode.cuh:"));
  }
}

}  // namespace
}  // namespace recto::verify

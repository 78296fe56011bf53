// A library's write with 32-bit offsets is detected in larger pools, on the host and on a stand-in
// device, and the report says where it went; writes to slots of -1 are reported as such.

#include <stdlib.h>

#include <string>

#include "bazel/testing/catch.h"
#include "verify/cases/placed_problem.h"
#include "verify/drawn_cases.h"
#include "verify/law_runner.h"
#include "verify/library/kernel_library_backends.h"
#include "verify/library/stand_in_device.h"

namespace recto::verify {
namespace {

using Catch::Matchers::ContainsSubstring;
using testing::StandInDevice;

const std::string kOnHost = "verify/library/libwrites.so";
const std::string kOnDevice = "verify/library/libwrites_on_device.so";
constexpr const char* kBeyond = "blocks beyond 2^31 elements and 2^32 bytes\n";

LawReport report_with(const char* fault, const std::string& path = kOnHost,
                      KernelDevice* device = nullptr) {
  setenv("RECTO_TEST_FAULT", fault, 1);
  DrawnCases cases{.name = "small", .count = 12};
  cases.domain.types = {{ElementType::kFp32, ElementType::kFp32}};
  cases.domain.context_max = 24;
  const LibraryUnderTest tested = library_under_test(path, {.device = device}).value();
  const LawReport report = run_laws(tested.laws, tested.backends, drawn_cases(cases, {}),
                                    {.failures_kept = 1, .shrinking_trials = 20});
  unsetenv("RECTO_TEST_FAULT");
  return report;
}

// The fault may show as either kind: its write may be detected, or end the process.
std::string failure_with(const char* fault, const std::string& path = kOnHost,
                         KernelDevice* device = nullptr) {
  const LawReport report = report_with(fault, path, device);
  REQUIRE(!report.failures.empty());
  std::string failures;
  for (const std::string& failure : report.failures) failures += failure;
  return failures;
}

void check_right(const LawReport& report) {
  INFO(report.table());
  REQUIRE(report.counts.size() == 1);
  CHECK(report.counts[0].failed == 0);
  CHECK(report.counts[0].held >= 8);
  CHECK(report.counts[0].skipped_parts.empty());
}

TEST_CASE("a right write is right beyond 32 bits, on the host and on a device") {
  check_right(report_with(""));
  StandInDevice device;
  check_right(report_with("", kOnDevice, &device));
}

TEST_CASE("offsets of 32 bits are caught where they lead, on the host and on a device") {
  StandInDevice device;
  for (const std::string of :
       {"int32 elements", "uint32 elements", "int32 bytes", "uint32 bytes"}) {
    const std::size_t space = of.find(' ');
    const std::string words = " " + of.substr(0, space) + " of" + of.substr(space);
    for (const std::string& failure :
         {failure_with(of.c_str()), failure_with(of.c_str(), kOnDevice, &device)}) {
      INFO(failure);
      CHECK_THAT(failure, ContainsSubstring("kv_write went beyond its blocks: a write "));
      CHECK_THAT(failure, ContainsSubstring(words));
      CHECK_THAT(failure,
                 ContainsSubstring("\n  in pools whose blocks lie beyond 2^31 elements and 2^32"));
    }
  }
}

TEST_CASE("a written row of slot -1 is named, at either end of the pool") {
  const std::string first = failure_with("padding to slot 0");
  INFO(first);
  CHECK_THAT(first, ContainsSubstring("\nagainst the reference's write"));
  CHECK_THAT(first, ContainsSubstring(" has slot -1, and was written to block 0, slot 0, which "));
  const std::string last = failure_with("padding to the last slot");
  INFO(last);
  CHECK_THAT(last, ContainsSubstring(" has slot -1, and was written to block "));
}

TEST_CASE("a write before the cache names the row whose slot is -1") {
  const std::string failure = failure_with("padding before the cache");
  INFO(failure);
  CHECK_THAT(failure, ContainsSubstring(" before k_cache, which has "));
  CHECK_THAT(failure, ContainsSubstring(" has slot -1: nothing should be written for it\n"));
}

TEST_CASE("a write's unsupported caches are found without writing") {
  const auto tested = library_under_test(kOnHost).value();
  DrawnCases cases{.name = "small", .count = 4};
  for (const ElementType type : {ElementType::kFp32, ElementType::kBf16}) {
    cases.domain.types = {{type, type}};
    for (std::uint64_t number = 0; number < cases.count; ++number) {
      const LawCase law_case = drawn_case(cases, number).law_case;
      const PlacedProblem placed(law_case.problem, law_case.placement);
      const auto why = tested.backends.at(0).why_unsupported(placed.inputs());
      CHECK(why.has_value() == (type == ElementType::kBf16));
    }
  }
}

TEST_CASE("a crash that only distant pools cause is reported with these pools") {
  const std::string failure = failure_with("abort beyond 32 bits");
  CHECK_THAT(failure, ContainsSubstring("kv_write was ended by SIGABRT\n"));
  CHECK_THAT(failure, ContainsSubstring("in pools whose blocks lie beyond 2^31 elements"));
}

TEST_CASE("pools too large for the device are reported as a skipped part") {
  StandInDevice device;
  device.room_bytes = std::int64_t{1} << 30;
  const LawReport report = report_with("int32 elements", kOnDevice, &device);
  CHECK(report.failed() == 0);
  CHECK(report.counts[0].skipped_parts.at(
            "blocks beyond 2^31 elements and 2^32 bytes: the device has no room for the call's "
            "memory") == report.counts[0].held);
}

}  // namespace
}  // namespace recto::verify

// A library that crashes, or never returns, in the middle of a run of laws: the run continues, and
// reports the smallest case in which that happens.

#include "verify/library/kernel_library_backends.h"

#include <stdlib.h>

#include <string>

#include "bazel/testing/catch.h"
#include "verify/drawn_cases.h"
#include "verify/law.h"
#include "verify/law_runner.h"
#include "verify/laws/laws.h"

namespace recto::verify {
namespace {

const std::string kFaults = "verify/library/libfaults.so";

DrawnCases small_cases() {
  DrawnCases cases{.name = "small", .count = 12, .times_full = 1};
  cases.domain.types = {{ElementType::kFp32, ElementType::kFp32}};
  cases.domain.context_max = 24;
  return cases;
}

// The report on the library with this fault.
LawReport report_with(const char* fault, const KernelLibraryOptions& options = {}) {
  setenv("RECTO_TEST_FAULT", fault, 1);
  const LawReport report =
      run_laws({oracle_comparison()}, kernel_library_backends(kFaults, options).value(),
               drawn_cases(small_cases(), {}), {.failures_kept = 1});
  unsetenv("RECTO_TEST_FAULT");
  return report;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// The failure whose text contains `part`, or nothing.
std::string failure_with(const LawReport& report, const std::string& part) {
  for (const std::string& failure : report.failures)
    if (contains(failure, part)) return failure;
  return "";
}

TEST_CASE("a library's three kinds of failure are all shown, each with its smallest case") {
  const LawReport report = report_with("three faults", {.time_limit_ms = 100});
  REQUIRE(report.failures.size() == 3);
  const std::string crash = failure_with(report, "a call failed\n  prefill was ended by SIGABRT\n");
  const std::string hang = failure_with(report, "a call failed\n  prefill did not return within");
  const std::string status =
      failure_with(report, "a call failed\n  prefill returned 99, which is not a");
  INFO(crash << hang << status);
  CHECK(contains(crash, "    2\n"));
  CHECK(!hang.empty());
  CHECK(!status.empty());
  CHECK(report.counts[0].failures.size() == 3);
}

TEST_CASE("a crash is a failure with its smallest case, and the run continues") {
  const LawReport report = report_with("abort on long contexts");
  REQUIRE(report.counts.size() == 1);
  CHECK(report.counts[0].backend == "faults prefill");
  CHECK(report.counts[0].ran() == 12);
  const std::string failure =
      failure_with(report, "a call failed\n  prefill was ended by SIGABRT\n");
  INFO(failure);
  // Contexts of five do not crash, and zeros for them are another kind of failure.
  CHECK(contains(failure, "rows  context   id\n"));
  CHECK(contains(failure, "  1        6    0\n"));
  CHECK(report.counts[0].failures.at("SIGABRT").cases >= 1);
}

TEST_CASE("an endless loop is a failure, too, and is called only a few times") {
  const LawReport report =
      report_with("loop on long contexts", {.time_limit_ms = 100, .time_outs_max = 3});
  CHECK(!failure_with(report, "a call failed\n  prefill did not return within ").empty());
  REQUIRE(report.counts.size() == 1);
  CHECK(report.counts[0].failed >= 1);
  CHECK(report.counts[0].skipped.count("no longer called, after 3 calls that did not return") == 1);
}

TEST_CASE("a library's offsets of 32 bits are caught") {
  for (const bool is_right : {true, false}) {
    setenv("RECTO_TEST_FAULT", is_right ? "right offsets" : "narrow offsets", 1);
    const LawReport report =
        run_laws({relocation_law()}, kernel_library_backends(kFaults).value(),
                 drawn_cases(small_cases(), {}), {.failures_kept = 1, .shrinking_trials = 20});
    unsetenv("RECTO_TEST_FAULT");
    INFO(report.table());
    REQUIRE(report.counts.size() == 1);
    CHECK(report.counts[0].ran() >= 8);
    CHECK((report.failed() == 0) == is_right);
  }
}

TEST_CASE("a library that trusts the old contents of its results is caught") {
  for (const bool is_right : {true, false}) {
    setenv("RECTO_TEST_FAULT", is_right ? "" : "trust what stands there", 1);
    const LawReport report =
        run_laws({history_law()}, kernel_library_backends(kFaults).value(),
                 drawn_cases(small_cases(), {}), {.failures_kept = 1, .shrinking_trials = 20});
    unsetenv("RECTO_TEST_FAULT");
    INFO(report.table());
    CHECK(report.counts[0].ran() >= 8);
    CHECK((report.failed() == 0) == is_right);
    if (!is_right) CHECK(contains(report.failures.at(0), "zeros in results and workspaces"));
  }
}

TEST_CASE("an unsupported call is skipped, and counted by the library's reason") {
  const LawReport report = report_with("unsupported");
  CHECK(report.failed() == 0);
  CHECK(report.counts[0].skipped.at("soft caps") == 12);
  CHECK_FALSE(report.passed());
}

TEST_CASE("a library that writes only zeros does not pass") { CHECK(report_with("").failed() > 0); }

TEST_CASE("a library that cannot be opened has no backends") {
  CHECK(kernel_library_backends("nowhere.so").status() ==
        Status::invalid_input("nowhere.so: No such file or directory"));
}

}  // namespace
}  // namespace recto::verify

// A library that confuses a stride with another, with a dense one, or with a multiple of a vector,
// fails the oracle or the law of KV writes, whichever stride it is; one that uses all strides
// passes.

#include <stdlib.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "bazel/testing/catch.h"
#include "verify/drawn_cases.h"
#include "verify/law.h"
#include "verify/law_runner.h"
#include "verify/laws/laws.h"
#include "verify/library/kernel_library_backends.h"

namespace recto::verify {
namespace {

enum class Judge : std::uint8_t { kOracle, kPlacement, kWriting };

CaseDomain served_domain() {
  CaseDomain domain;
  domain.types = {{ElementType::kFp32, ElementType::kFp32}};
  domain.layouts = {KvLayout::kTokenMajor, KvLayout::kHeadMajor};
  domain.head_dims = {4, 8};
  domain.context_max = 24;
  domain.has_softcap = domain.has_window = domain.has_alibi = domain.has_sinks = false;
  domain.has_non_causal = false;
  domain.dimensions = Dimensions::kAny;  // K's strides fit V if head dims are equal
  domain.gap_units = {kGapUnits.begin(), kGapUnits.end()};
  return domain;
}

CaseDomain packed_domain() {
  CaseDomain domain = served_domain();
  domain.layouts = {KvLayout::kPacked};
  return domain;
}

// Without gaps, all strides are multiples of eight.
CaseDomain domain_of_eights(std::vector<std::int64_t> gap_units) {
  CaseDomain domain = served_domain();
  domain.head_dims = {8, 16};
  domain.gap_units = std::move(gap_units);
  return domain;
}

std::vector<Law> laws_of(const LibraryUnderTest& tested, Judge judge) {
  if (judge == Judge::kOracle) return {oracle_comparison()};
  if (judge == Judge::kPlacement) return {physical_placement_law()};
  return tested.laws;
}

// The oracle checks as many cases as `recto verify --kernel` draws. The placement law widens all
// gaps of each case.
constexpr std::uint64_t kCases = 96;
constexpr std::uint64_t kPlacedCases = 12;

LawReport report_with(const std::string& fault, Judge judge,
                      const CaseDomain& domain = served_domain()) {
  setenv("RECTO_TEST_FAULT", fault.c_str(), 1);
  const DrawnCases cases{.name = "strides",
                         .count = judge == Judge::kPlacement ? kPlacedCases : kCases,
                         .domain = domain};
  const LibraryUnderTest tested = library_under_test("verify/library/libstrides.so", {}).value();
  const LawReport report = run_laws(laws_of(tested, judge), tested.backends, drawn_cases(cases, {}),
                                    {.failures_kept = 1, .shrinking_trials = 0});
  unsetenv("RECTO_TEST_FAULT");
  return report;
}

void check_caught(Judge judge, const std::vector<std::string>& faults,
                  const CaseDomain& domain = served_domain()) {
  for (const std::string& fault : faults) {
    INFO(fault);
    CHECK(report_with(fault, judge, domain).failed() > 0);
  }
}

const std::vector<std::string> kAttentionFaults = {
    "dense rows of q",     "dense heads of q",   "rows of out as of q", "dense heads of out",
    "dense slots of k",    "dense heads of k",   "dense slots of v",    "dense heads of v",
    "blocks of v as of k", "slots of v as of k", "heads of v as of k"};

TEST_CASE("a library that takes every stride as it is given is right") {
  for (const Judge judge : {Judge::kOracle, Judge::kPlacement, Judge::kWriting}) {
    for (const CaseDomain& domain : {served_domain(), packed_domain()}) {
      const LawReport report = report_with("", judge, domain);
      INFO(report.table());
      CHECK(report.failed() == 0);
      std::int64_t held = 0;
      for (const LawCount& count : report.counts) held += count.held;
      CHECK(held > 0);
    }
  }
}

TEST_CASE("the oracle finds each stride that is taken for another one") {
  check_caught(Judge::kOracle, kAttentionFaults);
}

TEST_CASE("the law of placement finds each stride that is taken for another one") {
  check_caught(Judge::kPlacement, kAttentionFaults);
}

TEST_CASE("the law of writing finds strides of new K and V that are taken for others") {
  check_caught(Judge::kWriting,
               {"dense rows of new k", "dense heads of new k", "dense rows of new v",
                "dense heads of new v", "rows of new v as of k"});
}

TEST_CASE("gaps that are not whole vectors reveal strides that are rounded to vectors") {
  const std::string fault = "strides in eights";
  for (const Judge judge : {Judge::kOracle, Judge::kPlacement, Judge::kWriting}) {
    CHECK(report_with(fault, judge, domain_of_eights({16, 8})).failed() == 0);
    for (const std::int64_t unit : {4, 2, 1}) {
      CAPTURE(unit);
      CHECK(report_with(fault, judge, domain_of_eights({unit})).failed() > 0);
    }
    check_caught(judge, {fault}, domain_of_eights({kGapUnits.begin(), kGapUnits.end()}));
  }
}

TEST_CASE("the oracle and both laws find slots of packs that are taken for adjacent") {
  for (const Judge judge : {Judge::kOracle, Judge::kPlacement, Judge::kWriting})
    check_caught(judge, {"slots of packs by head dim"}, packed_domain());
  check_caught(Judge::kPlacement, {"dense packs", "dense heads of k", "dense heads of v"},
               packed_domain());
}

}  // namespace
}  // namespace recto::verify

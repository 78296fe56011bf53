#pragma once

// Runs laws on backends over a set of drawn cases, in tests with several sets, one of which
// RECTO_CASE may select.

#include <cstddef>
#include <iostream>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "bazel/testing/catch.h"
#include "verify/drawn_cases.h"
#include "verify/law_runner.h"

namespace recto::verify {

struct CaseSets {
  std::vector<DrawnCases> all;  // all sets of the test
  DrawnCases tried;             // the set to try
};

// Expects that nothing fails within probabilistic bounds and, for a whole set, that some law holds
// on each backend. Returns the report of a whole set, or nothing if only part of it was requested.
inline std::optional<LawReport> expect_laws_hold(const std::vector<Law>& laws,
                                                 const std::vector<Backend>& backends,
                                                 const CaseSets& sets) {
  const Result<CaseChoice> asked = asked_cases(sets.all);
  REQUIRE(asked.status() == Status::ok());
  if (!asked.value().includes(sets.tried)) return std::nullopt;
  const LawReport report = run_laws(laws, backends, drawn_cases(sets.tried, asked.value()),
                                    {.bound_kind = BoundKind::kProbabilistic});
  report.print(std::cout);
  CHECK(report.failed() == 0);
  if (asked.value().number) return std::nullopt;
  CHECK(report.passed());
  return report;
}

// A law and a backend's name.
using LawOnBackend = std::pair<std::string, std::string>;

// For a whole set, expects that each law held at least once on each backend, except for the
// `silent` pairs, which never apply; a pair that does apply must be removed from them.
inline void expect_each_law_ran(const std::optional<LawReport>& report,
                                const std::set<LawOnBackend>& silent) {
  if (!report) return;
  std::size_t found = 0;
  for (const LawCount& count : report->counts) {
    const bool is_silent = silent.contains({count.law, count.backend});
    INFO(count.law << " on " << count.backend);
    CHECK((is_silent ? count.ran() == 0 : count.held > 0));
    found += is_silent ? 1 : 0;
  }
  CHECK(found == silent.size());
}

}  // namespace recto::verify

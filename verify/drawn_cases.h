#pragma once

// Generated cases in the form that the runner takes: described, replayable, and with simpler cases
// to shrink to. A test draws them from named sets: RECTO_CASE=NAME tries only that set,
// RECTO_CASE=NAME:NUMBER only that case.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"
#include "verify/cases/case_generator.h"
#include "verify/law_runner.h"

namespace recto::verify {

// Numbered cases; a number denotes the same case in every run.
struct DrawnCases {
  std::string name = {};
  std::uint64_t count = 0;
  std::uint64_t times_full = 10;  // factor on the count if RECTO_FULL is set
  CaseDomain domain = {};
  std::uint64_t seed = 2026;
  std::string stream = {};  // name of the random stream; if empty, the set's name

  std::uint64_t factor_here() const;  // factor on the count in this run
  std::uint64_t count_here() const { return factor_here() * count; }
};

CaseSpec drawn_spec(const DrawnCases& cases, std::uint64_t number);

// `replay` is the command that runs this case, or the case from which it was shrunk.
DescribedCase drawn_case(const CaseSpec& spec, const std::string& replay);

// Its replay command sets RECTO_CASE for the running test.
DescribedCase drawn_case(const DrawnCases& cases, std::uint64_t number);

// Which of a test's sets to try: all sets, one set, or one case of a set.
struct CaseChoice {
  std::optional<std::string> set = {};
  std::optional<std::uint64_t> number = {};

  bool includes(const DrawnCases& cases) const { return !set || *set == cases.name; }
};

// Parses NAME or NAME:NUMBER. Invalid input: the test has no such set, or the set has no such case
// even in a full run.
Result<CaseChoice> parse_case_choice(std::string_view text, const std::vector<DrawnCases>& sets);

// The choice made by RECTO_CASE; all sets if the variable is not set.
Result<CaseChoice> asked_cases(const std::vector<DrawnCases>& sets);

// The chosen cases of one set; none if `choice` names another set.
CaseSource drawn_cases(const DrawnCases& cases, const CaseChoice& choice);

}  // namespace recto::verify

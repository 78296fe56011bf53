#pragma once

// Cases of the generators as the runner takes them: described, replayable, and with simpler ones to
// shrink to. A test draws them from sets that have names, so that RECTO_CASE=NAME tries one set
// alone, and RECTO_CASE=NAME:NUMBER one case of it.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"
#include "verify/generators/case_generator.h"
#include "verify/law_runner.h"

namespace recto::verify {

// Numbered cases; a number stands for the same case in every run.
struct DrawnCases {
  std::string name = {};
  std::uint64_t count = 0;  // with RECTO_FULL set, kFullFactor times as many
  CaseDomain domain = {};
  std::uint64_t seed = 2026;
  std::string stream = {};  // of random numbers; if empty, named as the set
};

inline constexpr std::uint64_t kFullFactor = 10;

CaseSpec drawn_spec(const DrawnCases& cases, std::uint64_t number);

// `replay` is the command that tries this case, or the one it was shrunk from.
DescribedCase drawn_case(const CaseSpec& spec, const std::string& replay);

// Replayed by RECTO_CASE, in the test that runs.
DescribedCase drawn_case(const DrawnCases& cases, std::uint64_t number);

// What of a test's sets is to be tried: all, one set, or one case of it.
struct CaseChoice {
  std::optional<std::string> set = {};
  std::optional<std::uint64_t> number = {};

  bool includes(const DrawnCases& cases) const { return !set || *set == cases.name; }
};

// Reads NAME or NAME:NUMBER. Invalid input unless the test has the set, and the set the case, be it
// in a full run only.
Result<CaseChoice> parse_case_choice(std::string_view text, const std::vector<DrawnCases>& sets);

// What RECTO_CASE asks for; all where it is not set.
Result<CaseChoice> asked_cases(const std::vector<DrawnCases>& sets);

// The cases of one set that are to be tried, none where the choice is of another set.
CaseSource drawn_cases(const DrawnCases& cases, const CaseChoice& choice);

}  // namespace recto::verify

#pragma once

// What a run of laws left out, and why.

#include <cstdint>
#include <map>
#include <string>

#include "experiments/verify/trial.h"
#include "verify/law_runner.h"

namespace recto::experiments {

std::int64_t skipped_cases(const verify::LawCount& count);

// A line for each: of reasons that differ in numbers alone, one; the most frequent ones; the number
// of the others, so that nothing goes unsaid.
std::string reasons_text(const std::map<std::string, std::int64_t>& reasons);  // reason -> times

// Laws that cannot be put to a backend, those that met no case, and cases that were skipped.
std::string skips_text(const Trial& trial, const verify::LawReport& report);

}  // namespace recto::experiments

#pragma once

// The laws and cases that a run skipped, and why.

#include <cstdint>
#include <map>
#include <string>

#include "experiments/verify/selection.h"
#include "verify/law_runner.h"

namespace recto::experiments {

std::int64_t skipped_cases(const verify::LawCount& count);

// One line per reason, for the most frequent ones; reasons that differ only in numbers share a
// line. The number of the other reasons follows.
std::string reasons_text(const std::map<std::string, std::int64_t>& reasons);  // reason -> times

// Laws that do not apply to a backend, laws without a case, and skipped cases.
std::string skips_text(const Selection& selection, const verify::LawReport& report);

}  // namespace recto::experiments

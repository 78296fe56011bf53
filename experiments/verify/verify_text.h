#pragma once

// The results of a run of laws, for people and for machines.

#include <string>

#include "core/json.h"
#include "experiments/verify/verify_run.h"

namespace recto::experiments {

// The table, what was skipped and why, what is not here, and the failing cases.
std::string verify_text(const Trial& trial, const VerifyOptions& options,
                        const VerifyOutcome& outcome);

// {"cases", "seed", "bound", "failed", "cut_short", "replaced", "ended_early", "backends",
// "counts", "failures"}
Json verify_json(const Trial& trial, const VerifyOptions& options, const VerifyOutcome& outcome);

}  // namespace recto::experiments

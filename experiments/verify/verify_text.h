#pragma once

// The results of a run of laws, as text and as JSON.

#include <string>

#include "core/json.h"
#include "experiments/verify/verify_run.h"

namespace recto::experiments {

// The table, skips with reasons, backends missing on this machine, and the failing cases.
std::string verify_text(const Selection& selection, const VerifyOptions& options,
                        const VerifyOutcome& outcome);

// {"cases", "seed", "bound", "failed", "cut_short", "replaced", "ended_early", "backends",
// "counts", "by_feature", "failures"}
Json verify_json(const Selection& selection, const VerifyOptions& options,
                 const VerifyOutcome& outcome);

}  // namespace recto::experiments

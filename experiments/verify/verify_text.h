#pragma once

// The results of a run of laws, as text and as JSON.

#include <string>

#include "core/json.h"
#include "experiments/verify/verify_run.h"

namespace recto::experiments {

// The table, skips with reasons, backends missing on this machine, and the failing cases.
std::string verify_text(const Selection& selection, const VerifyOptions& options,
                        const VerifyOutcome& outcome);

// The same as an object: the run's limits, the backends, counts by law and backend, sizes of calls,
// and the failing cases.
Json verify_json(const Selection& selection, const VerifyOptions& options,
                 const VerifyOutcome& outcome);

}  // namespace recto::experiments

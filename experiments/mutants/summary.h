#pragma once

#include <string>
#include <vector>

#include "core/status.h"
#include "experiments/mutants/campaign_result.h"

namespace recto::experiments {

// A campaign's mutants; those that another campaign tried too have the outcome from there. Invalid
// input if the other campaign has a mutant that the first one lacks.
Result<std::vector<TriedMutant>> tried_anew(std::vector<TriedMutant> mutants,
                                            const std::vector<TriedMutant>& others);

// One row each for the last campaign, for the same without the compiler's checks, and for the
// second draw. Fails only if a built-in file is not a campaign's.
Result<std::string> summary_text(const CampaignResult& last);

}  // namespace recto::experiments

#pragma once

#include <string>
#include <vector>

#include "core/status.h"
#include "experiments/mutants/campaign_result.h"

namespace recto::experiments {

// A campaign's mutants, of which those that another one tried, too, became what they became there.
// Invalid input if the other one has a mutant that the first one lacks.
Result<std::vector<TriedMutant>> tried_anew(std::vector<TriedMutant> mutants,
                                            const std::vector<TriedMutant>& others);

// A row each for the last campaign, for what is left of it without the compiler's checks, and for
// the second draw. Fails only if a file that is built in is none of a campaign's.
Result<std::string> summary_text(const CampaignResult& last);

}  // namespace recto::experiments

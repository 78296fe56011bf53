#pragma once

// What a campaign of verify/mutants has written down: its date, and what became of each mutant.

#include <string>
#include <vector>

#include "core/status.h"

namespace recto::experiments {

struct TriedMutant {
  std::string name;
  std::string area;
  std::string place;  // "cuda/kernels/kv_write.cuh:30"
  std::string text;   // what was changed
  std::string ours;   // "killed", "passed", "crashed", "clock" or "untried"
  std::string by;     // the test that killed it
  std::string sort;   // of check, that it is: "law: chunking", "checks of the executor"
  double seconds = 0;
  // Nobody can tell it from the original, in some cases as it is the same machine code.
  bool is_equivalent = false;
  bool is_same_code = false;
  std::vector<std::string> imitations;  // as `ours`; of a fixed tolerance, of a factor of two
};

struct CampaignResult {
  std::string date;
  std::vector<TriedMutant> mutants;
};

// Invalid input naming `name` and the field, where something is missing or of another type.
Result<CampaignResult> parse_campaign_result(const std::string& name, const std::string& text);

// Those that are kept in verify/mutants, and built in: the last full campaign (result.json); the
// mutants that the compiler's checks were the first to see, tried without these
// (uninstrumented/result.json); and another draw (held_out/result.json).
Result<CampaignResult> last_campaign();
Result<CampaignResult> uninstrumented_campaign();
Result<CampaignResult> second_draw();

}  // namespace recto::experiments

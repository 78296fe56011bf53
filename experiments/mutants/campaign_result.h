#pragma once

// The recorded result of a campaign of verify/mutants: its date, and what became of each mutant.

#include <optional>
#include <string>
#include <vector>

#include "core/status.h"

namespace recto::experiments {

// How `recto verify` and each law judged a mutant without recto's own tests.
struct TriedAlone {
  std::string verify;             // as TriedMutant::ours
  std::vector<std::string> laws;  // that saw it
};

struct TriedMutant {
  std::string name;
  std::string area;
  std::string place;  // "cuda/kernels/kv_write.cuh:30"
  std::string text;   // what was changed
  std::string ours;   // "killed", "passed", "threw", "crashed", "clock" or "untried"
  std::string by;     // the test that killed it
  std::string sort;   // what sort of check that is: "law: chunking", "checks of the executor"
  double seconds = 0;
  // It cannot be told from the original; is_same_code: because its machine code is the same.
  bool is_equivalent = false;
  bool is_same_code = false;
  std::vector<std::string> imitations;  // as `ours`; of a fixed tolerance, of a factor of two
  std::optional<TriedAlone> alone;      // of campaigns with such columns, where imitations ran
};

struct CampaignResult {
  std::string date;
  std::vector<std::string> laws;  // that were tried alone
  std::vector<TriedMutant> mutants;
};

// Invalid input, naming `name` and the field, if something is missing or has the wrong type.
Result<CampaignResult> parse_campaign_result(const std::string& name, const std::string& text);

// The campaigns that are kept in verify/mutants and built in: the last full campaign (result.json);
// the mutants that the compiler's checks were the first to see, tried without those checks
// (uninstrumented/result.json); and a second draw (held_out/result.json).
Result<CampaignResult> last_campaign();
Result<CampaignResult> uninstrumented_campaign();
Result<CampaignResult> second_draw();

}  // namespace recto::experiments

#pragma once

// Cases of serving size for one backend at a time: kind after kind, as far as it serves them.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "verify/backend.h"
#include "verify/drawn_cases.h"
#include "verify/serving_cases.h"

namespace recto::experiments {

class ServingSupply {
 public:
  ServingSupply(std::uint64_t seed, const verify::SizeLimits& limits);

  // A case that the backend serves, of the next kind or one after it; nullopt once `is_late`, or if
  // some two dozen draws of each kind found none. `served` is the domain of small sizes that it was
  // found to serve, or null. Counts in `refusals` why other cases were refused.
  std::optional<verify::DescribedCase> draw_for(const verify::Backend& backend,
                                                const verify::CaseDomain* served,
                                                const std::function<bool()>& is_late,
                                                std::map<std::string, std::int64_t>& refusals);

 private:
  std::vector<verify::DrawnCases> kinds_;
  std::size_t next_kind_ = 0;
  std::uint64_t drawn_ = 0;
};

// Why the backend refuses the case, with its memory placed as the case says; nullopt if it does
// not.
std::optional<std::string> why_refused_as_placed(const verify::Backend& backend,
                                                 const verify::LawCase& law_case);

}  // namespace recto::experiments

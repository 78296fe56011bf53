#pragma once

// Cases of serving size for one backend at a time, so that each gets every kind that it serves.

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
  // The units are those of the cases' domains.
  ServingSupply(std::uint64_t seed, const verify::SizeLimits& limits,
                const std::vector<std::int64_t>& gap_units);

  // A case of a kind that the backend has had least of, or of the next one that it serves; nullopt
  // once `is_late`, or if some two dozen draws of a kind found none. The backend's first case of a
  // kind has telling values. `served` is the domain of small sizes that it was found to serve, or
  // null. Counts in `refusals` why other cases were refused.
  std::optional<verify::DescribedCase> draw_for(const verify::Backend& backend,
                                                const verify::CaseDomain* served,
                                                const std::function<bool()>& is_late,
                                                std::map<std::string, std::int64_t>& refusals);

  // Counts the last case drawn for a backend that serves it.
  void count_for(const verify::Backend& backend);

  // The number of cases that the backend has had of each kind, except for those that it refuses.
  std::int64_t cases_of_each_kind(const verify::Backend& backend) const;

 private:
  // Of one backend.
  struct Share {
    std::vector<std::int64_t> cases;  // [kinds]
    std::vector<bool> is_refused;     // [kinds]
    bool is_narrowed = false;
  };

  Share& share_of(const verify::Backend& backend);
  std::vector<std::size_t> kinds_for(const Share& share) const;
  std::optional<verify::DescribedCase> draw_of(const verify::ServingKind& kind,
                                               const verify::Backend& backend,
                                               verify::ServingValues values,
                                               const std::function<bool()>& is_late,
                                               std::map<std::string, std::int64_t>& refusals);

  std::vector<verify::ServingKind> kinds_;
  std::map<const verify::Backend*, Share> shares_;
  std::size_t last_kind_ = 0;
  std::uint64_t drawn_ = 0;
};

// Why the backend refuses the case, with its memory placed as the case says; nullopt if it does
// not.
std::optional<std::string> why_refused_as_placed(const verify::Backend& backend,
                                                 const verify::LawCase& law_case);

}  // namespace recto::experiments

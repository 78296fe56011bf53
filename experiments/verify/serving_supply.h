#pragma once

// Draws cases of serving size for one backend at a time, so that each gets every kind that it
// supports.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "verify/backend.h"
#include "verify/cases/case_demands.h"
#include "verify/drawn_cases.h"
#include "verify/serving_cases.h"

namespace recto::experiments {

class ServingSupply {
 public:
  // No case is drawn that does not meet the demands.
  ServingSupply(const std::vector<verify::ServingKind>& kinds, const verify::CaseDemands& demands)
      : kinds_(kinds), demands_(demands) {}

  // A case of the kind of which the backend has had fewest cases, or of the next kind that it
  // supports; nullopt once `is_time_up`, or if about two dozen draws of a kind found none. In the
  // backend's first case of a kind each key counts. `served` is its supported domain of small
  // sizes, found by probing, or null. Counts in `refusals` why other cases were refused.
  std::optional<verify::DescribedCase> draw_for(const verify::Backend& backend,
                                                const verify::CaseDomain* served,
                                                const std::function<bool()>& is_time_up,
                                                std::map<std::string, std::int64_t>& refusals);

  // Counts the last drawn case for a backend that supports it.
  void count_for(const verify::Backend& backend);

  // The smallest number of cases per kind for the backend, over kinds that it does not refuse.
  std::int64_t cases_of_each_kind(const verify::Backend& backend) const;

 private:
  // The cases that one backend got.
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
                                               const std::function<bool()>& is_time_up,
                                               std::map<std::string, std::int64_t>& refusals);

  std::vector<verify::ServingKind> kinds_;
  verify::CaseDemands demands_;
  std::map<const verify::Backend*, Share> shares_;
  std::size_t last_kind_ = 0;
  std::uint64_t drawn_ = 0;
};

// Why the backend refuses the case, with memory placed as the case says; nullopt if it supports it.
std::optional<std::string> why_refused_as_placed(const verify::Backend& backend,
                                                 const verify::LawCase& law_case);

}  // namespace recto::experiments

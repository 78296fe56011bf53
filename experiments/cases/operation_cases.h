#pragma once

// Draws cases of one operation for files: small ones, and among them some of serving size.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/status.h"
#include "experiments/cases/case_filter.h"
#include "experiments/cases/case_folder.h"
#include "verify/drawn_cases.h"
#include "verify/serving_kinds.h"

namespace recto::experiments {

// The limit of the approximate file size of a case of serving size.
inline constexpr double kLargeFileBytesMax = 0x1p24;

// The approximate size of its file.
double bytes_of(const verify::CaseSpec& spec);

class OperationCases {
 public:
  // Uses the serving kinds that have the rows of the operation.
  OperationCases(verify::CaseOperation operation, const CaseSets& sets,
                 const verify::CaseDemands& demands);

  // A case of each set in turn; every third case is of a serving kind, if its file is small enough.
  // The case has outputs to judge and meets the demands; invalid input if no such case was drawn.
  Result<verify::CaseSpec> next();

 private:
  bool is_wanted(const verify::CaseSpec& spec) const;
  std::optional<verify::CaseSpec> next_large();
  Result<verify::CaseSpec> next_small(std::size_t set);

  verify::CaseOperation operation_;
  verify::CaseDemands demands_;
  std::vector<verify::DrawnCases> sets_;
  std::vector<verify::ServingKind> kinds_ = {};
  std::vector<std::uint64_t> numbers_;  // [sets], of the next case
  std::uint64_t drawn_ = 0;
  std::size_t turn_ = 0;
  std::size_t small_ = 0;
  std::size_t kind_ = 0;
};

}  // namespace recto::experiments

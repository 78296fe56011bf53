#pragma once

// Draws cases of one operation for files: small ones, and among them some of serving size.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/status.h"
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
  // Uses the `kinds` that have the rows of the operation.
  OperationCases(verify::CaseOperation operation, const std::vector<verify::DrawnCases>& sets,
                 const std::vector<verify::ServingKind>& kinds);

  // A case of each set in turn; every third case is of a serving kind, if its file is small enough.
  // The case has outputs to judge; failed if no such case was drawn.
  Result<verify::CaseSpec> next();

 private:
  std::optional<verify::CaseSpec> next_large();
  Result<verify::CaseSpec> next_small(std::size_t set);

  verify::CaseOperation operation_;
  std::vector<verify::DrawnCases> sets_;
  std::vector<verify::ServingKind> kinds_ = {};
  std::vector<std::uint64_t> numbers_;  // [sets], of the next case
  std::uint64_t drawn_ = 0;
  std::size_t turn_ = 0;
  std::size_t small_ = 0;
  std::size_t kind_ = 0;
};

}  // namespace recto::experiments

#include "experiments/cases/operation_cases.h"

#include <fmt/format.h>

#include "verify/cases/case_json.h"
#include "verify/serving_cases.h"

namespace recto::experiments {
namespace {

using verify::CaseDomain;
using verify::CaseOperation;

constexpr int kDrawsMax = 2000;         // until a case has outputs to judge
constexpr std::size_t kLargeEvery = 3;  // every third case has a serving size

void narrow_rows(CaseOperation operation, CaseDomain& domain) {
  using verify::RowsKind;
  if (operation == CaseOperation::kDecode) domain.rows = {RowsKind::kDecode};
  if (operation == CaseOperation::kPrefill) {
    domain.rows = {RowsKind::kChunk, RowsKind::kPrefill, RowsKind::kBeyondContext,
                   RowsKind::kMixed};
  }
}

}  // namespace

// The approximate size of its file.
double bytes_of(const verify::CaseSpec& spec) {
  const auto results = static_cast<double>(spec.num_rows() * spec.shape.num_q_heads) *
                       static_cast<double>(spec.shape.head_dim_v + 1);
  return 4.0 * verify::case_numbers(spec) + 16.0 * results;
}

OperationCases::OperationCases(CaseOperation operation, const CaseSets& sets,
                               const verify::CaseDemands& demands)
    : operation_(operation), demands_(demands), sets_(sets.small), numbers_(sets.small.size()) {
  for (verify::DrawnCases& set : sets_) narrow_rows(operation, set.domain);
  for (const verify::ServingKind& kind : sets.serving) {
    const bool is_decode = kind.rows == verify::ServedRows::kOne;
    if (operation == CaseOperation::kDecode && !is_decode) continue;
    if (operation == CaseOperation::kPrefill && is_decode) continue;
    kinds_.push_back(kind);
  }
}

bool OperationCases::is_wanted(const verify::CaseSpec& spec) const {
  return has_results(operation_, spec) && demands_.are_met_by(spec);
}

Result<verify::CaseSpec> OperationCases::next() {
  const std::size_t turn = turn_++;
  if (turn % kLargeEvery == kLargeEvery - 1)
    if (const std::optional<verify::CaseSpec> large = next_large()) return *large;
  return next_small(small_++ % sets_.size());
}

// A case of the next kind whose file is small enough.
std::optional<verify::CaseSpec> OperationCases::next_large() {
  constexpr int kDraws = 24;  // of each kind
  for (std::size_t tried = 0; tried < kinds_.size(); ++tried) {
    const auto values = kind_ < kinds_.size() ? verify::ServingValues::kEveryKeyMatters
                                              : verify::ServingValues::kAny;
    const verify::ServingKind& kind = kinds_[kind_++ % kinds_.size()];
    for (int draw = 0; draw < kDraws; ++draw) {
      verify::CaseSpec spec = serving_spec(kind, drawn_++, values);
      if (is_wanted(spec) && bytes_of(spec) <= kLargeFileBytesMax) return spec;
    }
  }
  return std::nullopt;
}

// Tries the next numbers of the set until a case has outputs to judge.
Result<verify::CaseSpec> OperationCases::next_small(std::size_t set) {
  for (int tried = 0; tried < kDrawsMax; ++tried) {
    verify::CaseSpec spec = drawn_spec(sets_[set], numbers_[set]++);
    if (is_wanted(spec)) return spec;
  }
  return Status::invalid_input(
      fmt::format("the filter: none of {} drawn cases of {} meets it and has anything to judge",
                  kDrawsMax, case_operation_name(operation_)));
}

}  // namespace recto::experiments

#pragma once

// A case as JSON: small, for people to read and edit. The tensors follow from its seed.

#include <cstdint>
#include <string>

#include "core/status.h"
#include "verify/cases/case_spec.h"
#include "verify/cases/field_reader.h"

namespace recto::verify {

// All fields, except values.varied_tokens if all tokens are varied, and gaps of 0. Equal cases give
// equal texts.
Json case_json(const CaseSpec& spec);

// One line per topic, without a newline at the end.
std::string topic_lines(const Json& json, const std::string& indent);

// Returns invalid input, naming the field below `path`, if the case is incomplete (only
// values.varied_tokens and placement.gaps may be missing) or invalid (check_case), or if it has
// more than kCaseNumbersMax numbers or, over all sequences, more than kCaseHeadsMax query heads,
// because both cost time.
Result<CaseSpec> read_case(const Json& json, const std::string& path);

inline constexpr double kCaseNumbersMax = 1 << 28;
inline constexpr std::int64_t kCaseHeadsMax = 1 << 16;

// The approximate number of elements in the case's tensors; fp64, so that it cannot overflow.
double case_numbers(const CaseSpec& spec);

}  // namespace recto::verify

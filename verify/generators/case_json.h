#pragma once

// A case as JSON: small, read and changed by people. Tensors follow from its seed.

#include <cstdint>
#include <string>

#include "core/status.h"
#include "verify/generators/case_spec.h"
#include "verify/generators/field_reader.h"

namespace recto::verify {

// Every field, but values.varied_tokens where all are; equal cases give equal texts.
Json case_json(const CaseSpec& spec);

// A line for each topic, and no newline at the end.
std::string topic_lines(const Json& json, const std::string& indent);

// Invalid input, naming the field below `path`, for what is no whole case (all fields but
// values.varied_tokens), no valid one (check_case), or one of more than kCaseNumbersMax numbers or,
// in all sequences, more than kCaseHeadsMax query heads: each takes its time.
Result<CaseSpec> read_case(const Json& json, const std::string& path);

inline constexpr double kCaseNumbersMax = 1 << 28;
inline constexpr std::int64_t kCaseHeadsMax = 1 << 16;

// Numbers that its tensors have, about; in fp64, which does not overflow.
double case_numbers(const CaseSpec& spec);

}  // namespace recto::verify

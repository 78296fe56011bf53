#pragma once

// What a failing case shrinks to: fewer sequences, rows, keys, heads and dims; options off; plain
// numbers, types and placements.

#include <cstdint>
#include <vector>

#include "verify/cases/case_spec.h"

namespace recto::verify {

// How far a case is from plain: a sum over all sizes and all choices that are not plain. Never
// negative. Each shrinking step decreases it, so shrinking ends.
std::int64_t complexity(const CaseSpec& spec);

// Valid cases of lower complexity, each one change away, from the boldest change to the mildest.
std::vector<CaseSpec> simpler_cases(const CaseSpec& spec);

}  // namespace recto::verify

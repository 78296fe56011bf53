#pragma once

// Shrinks failing cases: fewer sequences, rows, keys, heads and dims; options off; plain numbers,
// types and placements.

#include <cstdint>
#include <functional>
#include <vector>

#include "verify/cases/case_spec.h"

namespace recto::verify {

// How far a case is from plain: a sum over all sizes and all choices that are not plain. Never
// negative. Each shrinking step decreases it, so shrinking ends.
std::int64_t complexity(const CaseSpec& spec);

// Valid cases of lower complexity, each one change away, from the boldest change to the mildest.
std::vector<CaseSpec> simpler_cases(const CaseSpec& spec);

using CasePredicate = std::function<bool(const CaseSpec&)>;

struct ShrunkCase {
  CaseSpec spec;
  std::int64_t evaluations = 0;
  bool is_minimal = false;  // no simpler case fails; else the evaluations ran out
};

// Repeatedly moves to the first simpler case that still fails, until there is none or the predicate
// was evaluated `max_evaluations` times. Assumes that `failing` itself fails.
ShrunkCase shrink(const CaseSpec& failing, const CasePredicate& still_fails,
                  std::int64_t max_evaluations = 2000);

}  // namespace recto::verify

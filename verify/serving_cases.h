#pragma once

// Draws cases of the serving kinds (serving_kinds.h).

#include <cstdint>

#include "verify/serving_kinds.h"

namespace recto::verify {

// The values and options of a case.
enum class ServingValues : std::uint8_t {
  kAny,
  // Each key has a weight that shows in the results, so that a lost or misread key is detected:
  // random numbers with ordinary scores, no bias, and no window except the kind's own.
  kEveryKeyMatters,
};

CaseSpec serving_spec(const ServingKind& kind, std::uint64_t number, ServingValues values);

// Moves a longest sequence to the last row of a block table whose rows are wider than any sequence
// needs: only such a case reveals a wrong row stride or a wrong row end.
CaseSpec with_longest_last(CaseSpec spec);

// A case of the same shape and options with few, short sequences. A backend that refuses it usually
// refuses `spec` too.
CaseSpec smaller_case_of_same_kind(CaseSpec spec);

}  // namespace recto::verify

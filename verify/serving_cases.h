#pragma once

// Cases of the serving kinds.

#include <cstdint>

#include "verify/serving_kinds.h"

namespace recto::verify {

// The values and options of a case.
enum class ServingValues : std::uint8_t {
  kAny,
  // Each key has a weight that shows in the results, so that one that is lost, or read from a wrong
  // place, is seen: random numbers of usual scores, and no bias, nor a window but the kind's own.
  kTelling,
};

CaseSpec serving_spec(const ServingKind& kind, std::uint64_t number, ServingValues values);

// Moves a longest sequence to the last row of a table whose rows are wider than any sequence needs:
// only such a case reveals a wrong row stride or a wrong row end.
CaseSpec with_longest_last(CaseSpec spec);

// A case of the same kind with a few short sequences: a backend that refuses it mostly refuses
// `spec` too.
CaseSpec small_likeness(CaseSpec spec);

}  // namespace recto::verify

#pragma once

// The comparison with the oracle, in the shape of a law, so that one runner tries, counts, shrinks
// and prints both.

#include "verify/law.h"

namespace recto::verify {

// "oracle": out and lse lie within the bound around the fp64 result.
Law oracle_comparison();

}  // namespace recto::verify

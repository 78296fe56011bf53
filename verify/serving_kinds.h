#pragma once

// The kinds of cases with sizes as in serving. Each kind is large in one way or a few, so that a
// case stays affordable; together they reach every band of sizes, with one row a sequence
// (decode_kinds.h) and with many (chunk_kinds.h).

#include <vector>

#include "verify/serving_kind.h"

namespace recto::verify {

// Those with one row and those with many in turn, as long as there are both.
std::vector<ServingKind> serving_kinds(const SizeLimits& limits);

// Restricts the domain to these sizes, including its groups.
CaseDomain within(const SizeLimits& limits, CaseDomain domain);

}  // namespace recto::verify

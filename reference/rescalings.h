#pragma once

// How often an online softmax may rescale its state: each time the running maximum grows. (If the
// maximum is unchanged, the factor is exp(0), which every implementation computes as exactly 1.)

#include <cstdint>

#include "reference/dense_attention.h"
#include "reference/numerics.h"

namespace recto::reference {

// An upper bound on the rescalings of any one key of a row, for all tiles, splits and lanes that
// `numerics` allows. O(n); O(n log n) if the tile order is unknown.
std::int64_t rescalings(const Vector& scores, const KernelNumerics& numerics);

// The length of the longest chain in which each score is the first later score that is larger than
// the previous one: the most maxima that one pass over consecutive keys can have, wherever it
// starts. At least 1. O(n).
std::int64_t longest_climb(const Vector& scores);

// The length of the longest strictly increasing subsequence: the same for passes that may skip
// keys. O(n log n).
std::int64_t longest_rise(const Vector& scores);

}  // namespace recto::reference

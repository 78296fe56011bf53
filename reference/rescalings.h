#pragma once

// How often an online softmax may rescale what it has: each time its running maximum grows. (With
// an unchanged maximum the factor is exp(0), which every implementation gives as 1, exactly.)

#include <cstdint>

#include "reference/dense_attention.h"
#include "reference/numerics.h"

namespace recto::reference {

// At most so many rescalings meet one key of a row, whatever tiles, splits and lanes the kernel has
// within what `numerics` says of it. O(n), in unknown order O(n log n).
std::int64_t rescalings(const Vector& scores, const KernelNumerics& numerics);

// Longest run of ever larger scores, each the next one that is larger than the one before it: the
// most that one pass over consecutive keys can see, wherever it starts. At least 1. O(n).
std::int64_t longest_climb(const Vector& scores);

// Longest strictly increasing subsequence: the same for passes that leave keys out. O(n log n).
std::int64_t longest_rise(const Vector& scores);

}  // namespace recto::reference

#pragma once

// Few combinations of many factors, such that any two factors meet in every pair of their values.

#include <span>
#include <vector>

namespace recto::verify {

// Rows of one value for each factor: factor i has levels[i] of them, counted from 0, at least one.
// Greedy, as AETG (Cohen et al., 1997): each row in turn takes values that cover most pairs not yet
// covered; where several do, a number drawn from the seed decides. About as many rows as the two
// largest factors have pairs, and a few more. O(rows * pairs).
std::vector<std::vector<int>> pairwise_cover(std::span<const int> levels, unsigned seed);

}  // namespace recto::verify

#pragma once

// A small set of combinations of many factors that covers every pair of values of any two factors.

#include <span>
#include <vector>

namespace recto::verify {

// Returns rows with one value per factor: factor i has levels[i] >= 1 values, counted from 0.
// Greedy, like AETG (Cohen et al., 1997): each row in turn takes the values that cover the most
// uncovered pairs; a number drawn from the seed breaks ties. The number of rows slightly exceeds
// the number of pairs of the two largest factors. O(rows * pairs).
std::vector<std::vector<int>> pairwise_cover(std::span<const int> levels, unsigned seed);

}  // namespace recto::verify

#pragma once

// How many values are alike. The sharp bound takes rounding errors to be independent; equal terms
// make equal errors, which add up instead of averaging out.

#include <cstdint>
#include <span>

namespace recto::reference {

// How often the most frequent magnitude occurs; 0 for none. O(n), expected.
std::int64_t multiplicity(std::span<const double> values);

}  // namespace recto::reference

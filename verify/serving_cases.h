#pragma once

// Cases of the sizes that servers have. Each kind is large in one way, so that a case stays
// affordable, and one is large in several.

#include <cstdint>
#include <vector>

#include "verify/drawn_cases.h"

namespace recto::verify {

// Longest context of serving cases, unless a caller says.
inline constexpr std::int64_t kServingContext = 4096;

// "long-context", up to `context_max` tokens; "many-sequences", of which there are 33 to 40;
// "many-heads", up to 32 query heads over 8 KV heads; "long-prompt", of 128 query rows and more;
// "serving-batch", 33 sequences and more with 32 over 8 heads. Block sizes from 16 to 256, head
// dims 64, 128 and 256; lengths of a batch are skewed. No context is longer than `context_max`.
std::vector<DrawnCases> serving_cases(std::int64_t context_max);

// The same with a longest sequence in the last row of a table whose rows are wider than any
// sequence takes: a wrong stride of rows, or a row's wrong end, shows in no other case.
CaseSpec with_longest_last(CaseSpec spec);

// A case of the same kinds with a few short sequences: who refuses it mostly refuses the case.
CaseSpec small_likeness(CaseSpec spec);

}  // namespace recto::verify

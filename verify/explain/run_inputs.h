#pragma once

// The inputs of one run of a law, which live only during the call: how they differ from the case's,
// and as a case of their own.

#include <string>

#include "verify/law.h"

namespace recto::verify {

// A line for each size or option in which the inputs differ from those of the case, behind two
// blanks.
std::string differing_text(const PagedAttentionInputs& inputs, const PagedAttentionInputs& of_case);

// Poses the same problem in the same layout and block size; where blocks lie, gaps and what is in
// them are the placement's.
LawCase case_of(const PagedAttentionInputs& inputs, Placement placement);

}  // namespace recto::verify

#pragma once

// The inputs of one run of a law, which exist only during the call: how they differ from the
// case's, and as a case of their own.

#include <string>

#include "verify/law.h"

namespace recto::verify {

// A line, indented by two spaces, for each size or option in which the inputs differ from the
// case's.
std::string differing_text(const PagedAttentionInputs& inputs, const PagedAttentionInputs& of_case);

// The same problem in the same layout and block size. The positions of blocks, and gaps with their
// contents, are those of `placement`.
LawCase case_of(const PagedAttentionInputs& inputs, Placement placement);

}  // namespace recto::verify

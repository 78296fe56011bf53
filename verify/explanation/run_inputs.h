#pragma once

// The inputs of one run of a law, which live only during the call: how they differ from the case's,
// and as a case of their own.

#include <string>
#include <vector>

#include "verify/law.h"

namespace recto::verify {

// A size or option of a call, as text.
struct InputFact {
  std::string name;
  std::string value;
};

// The same names for all inputs.
std::vector<InputFact> facts_of(const PagedAttentionInputs& inputs);

// A line for each fact in which `facts` differ from those of the case, behind two blanks.
std::string differing_text(const std::vector<InputFact>& facts,
                           const std::vector<InputFact>& of_case);

// Poses the same problem in the same layout and block size; where blocks lie, gaps and what is in
// them are the placement's.
LawCase case_of(const PagedAttentionInputs& inputs, Placement placement);

// As case_work.h has it of a problem.
double work_of(const PagedAttentionInputs& inputs);

}  // namespace recto::verify

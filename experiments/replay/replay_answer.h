#pragma once

// Judges again a failing case whose results a program wrote to a file, and explains it as far as
// such results allow.

#include <ostream>
#include <string>

#include "core/status.h"
#include "reference/numerics.h"
#include "verify/saved_case.h"

namespace recto::experiments {

// `case_file` is the path of the saved case; the path of its answer is relative to that file's
// folder. Failed if the answer is still wrong; invalid input if it cannot be read.
Status replay_answer(const std::string& case_file, const verify::SavedCase& saved,
                     const reference::DeclaredNumerics& declared, std::ostream& out);

}  // namespace recto::experiments

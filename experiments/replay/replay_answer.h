#pragma once

// A case that failed in a file of results, which somebody's program wrote: judged again, and
// explained as far as such results tell.

#include <ostream>
#include <string>

#include "core/status.h"
#include "verify/saved_case.h"

namespace recto::experiments {

// `case_file` is the saved case's own path, from whose folder its answer is seen. Failed if it is
// still wrong; invalid input where the answer cannot be read.
Status replay_answer(const std::string& case_file, const verify::SavedCase& saved,
                     std::ostream& out);

}  // namespace recto::experiments

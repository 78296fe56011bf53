#pragma once

// A saved case fails in a process that has made the checks before it, and nothing else: the state
// in which its backend is put to every call that explains it.

#include <string>

#include "experiments/verify/trial.h"
#include "verify/backend.h"
#include "verify/saved_case.h"

namespace recto::experiments {

// "decode" of "NAME decode"; of another name, that name. Another library has the same function as a
// library's "NAME decode", but under its own name.
std::string function_of(const std::string& backend);

// Lets the backend forget what it was called for, and makes the checks that come before the case.
// Nothing if it cannot forget.
void begin_again(const verify::Backend& backend, const Trial& trial,
                 const verify::SavedCase& saved);

// The backend, begun again before each call; of a call that is first asked to be supported, before
// that. Arguments must outlive it.
verify::Backend begun_again(const verify::Backend& backend, const Trial& trial,
                            const verify::SavedCase& saved);

}  // namespace recto::experiments

#pragma once

// Laws for moving K and V: each applies to one function, which is listed as a backend.

#include <functional>
#include <string>

#include "verify/law.h"

namespace recto::verify {

// `law`, checked by `check`, for the backend of that name only; `why_never` is the reason given for
// others, such as "it copies no blocks".
Law single_backend_law(Law law, const std::string& backend, const std::string& why_never,
                       std::function<LawVerdict(const LawCase&)> check);

}  // namespace recto::verify

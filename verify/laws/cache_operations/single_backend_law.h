#pragma once

// Laws of KV-cache operations: each applies to a single function, which is listed as a backend.

#include <functional>
#include <string>

#include "verify/law.h"

namespace recto::verify {

// `law`, checked by `check`, for the backend named `backend` only; `why_never` is the reason given
// for other backends, such as "it copies no blocks".
Law single_backend_law(Law law, const std::string& backend, const std::string& why_never,
                       std::function<LawVerdict(const LawCase&)> check);

}  // namespace recto::verify

#pragma once

// Laws of what moves K and V about: each is of one function, which is listed as a backend.

#include <functional>
#include <string>

#include "verify/law.h"

namespace recto::verify {

// `law`, checked by `check`, of the backend of that name alone; `why_never` is what others are
// told, such as "it copies no blocks".
Law single_backend_law(Law law, const std::string& backend, const std::string& why_never,
                       std::function<LawVerdict(const LawCase&)> check);

}  // namespace recto::verify

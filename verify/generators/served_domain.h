#pragma once

// What of a domain somebody serves who refuses most of it, as kernels for one type, one head dim
// and one layout do: found by changing one thing at a time, where cases drawn at random would need
// the product of all choices.

#include <functional>
#include <optional>
#include <string>

#include "verify/generators/case_generator.h"

namespace recto::verify {

// Why a case is refused, in words that do not vary with sizes; nothing if it is served.
using CaseRefusal = std::function<std::optional<std::string>(const CaseSpec&)>;

// The domain, with those values of each list, and those options, that are served beside one plain
// case that is. Combinations of them may still be refused. Nothing where no such case was found:
// there is one if each reason to refuse is about one list or option. Asks about seventy cases for
// each reason that is met, and a thousand at most.
std::optional<CaseDomain> served_domain(const CaseDomain& domain, const CaseRefusal& why_refused);

}  // namespace recto::verify

#pragma once

// Finds the part of a domain that an implementation supports, even if it refuses most of the
// domain, such as kernels for one type, one head dim and one layout. Changes one thing at a time;
// random cases would have to hit the product of all choices.

#include <functional>
#include <optional>
#include <string>

#include "verify/cases/case_generator.h"

namespace recto::verify {

// Returns why a case is refused, in words that do not vary with sizes; nullopt if it is served.
using CaseRefusal = std::function<std::optional<std::string>(const CaseSpec&)>;

// Returns the domain restricted to the values of each list, and the options, that are served as
// single changes to one plain served case. Combinations of them may still be refused. Returns
// nullopt if no such case was found; one is found if each reason to refuse is about one list or
// option. Asks about seventy cases for each new reason, and at most a thousand to find the case and
// a thousand to change it.
std::optional<CaseDomain> served_domain(const CaseDomain& domain, const CaseRefusal& why_refused);

}  // namespace recto::verify

#pragma once

// Cases for rapidcheck properties:
//
//   rc::prop("agrees with the oracle", [] {
//     const CaseSpec spec = *arbitrary_case(CaseDomain{});
//     ...
//   });
//
// Counterexamples shrink by simpler_cases and are printed as blocks.

#include <rapidcheck.h>

#include <ostream>

#include "verify/generators/case_generator.h"
#include "verify/generators/case_shrinker.h"

namespace recto::verify {

inline rc::Gen<CaseSpec> arbitrary_case(const CaseDomain& domain) {
  // The size that rapidcheck passes is ignored: the domain says what is small enough.
  return [domain](const rc::Random& random, int) {
    rc::Random seeds = random;
    RandomStream stream(seeds.next());
    return rc::shrinkable::shrinkRecur(draw_case(stream, domain), [](const CaseSpec& spec) {
      return rc::seq::fromContainer(simpler_cases(spec));
    });
  };
}

// Called by rapidcheck to print counterexamples.
inline void showValue(const CaseSpec& spec, std::ostream& out) { out << '\n' << spec; }

}  // namespace recto::verify

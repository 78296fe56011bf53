#pragma once

// Cases for rapidcheck properties:
//
//   rc::prop("agrees with the oracle", [] {
//     const CaseSpec spec = *arbitrary_case(CaseDomain{});
//     ...
//   });
//
// A counterexample shrinks by simpler_cases and is printed as a block.

#include <rapidcheck.h>

#include <ostream>

#include "verify/generators/case_generator.h"
#include "verify/generators/case_shrinker.h"

namespace recto::verify {

inline rc::Gen<CaseSpec> arbitrary_case(const CaseDomain& domain) {
  // The size that rapidcheck hands in is left alone: the domain says what is small enough.
  return [domain](const rc::Random& random, int) {
    rc::Random seeds = random;
    RandomStream stream(seeds.next());
    return rc::shrinkable::shrinkRecur(draw_case(stream, domain), [](const CaseSpec& spec) {
      return rc::seq::fromContainer(simpler_cases(spec));
    });
  };
}

// Found by rapidcheck where it prints counterexamples.
inline void showValue(const CaseSpec& spec, std::ostream& out) { out << '\n' << spec; }

}  // namespace recto::verify

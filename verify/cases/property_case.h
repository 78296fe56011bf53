#pragma once

// Cases for properties:
//
//   property("agrees with the oracle", [](Draw& draw) {
//     const CaseSpec spec = draw_case(draw, CaseDomain{});
//     ...
//   });
//
// Counterexamples shrink by simpler_cases and are printed as blocks.

#include "bazel/testing/property.h"
#include "verify/cases/case_generator.h"

namespace recto::verify {

// Every case may have any size of the domain, so the domain must be small enough.
CaseSpec draw_case(Draw& draw, const CaseDomain& domain);

}  // namespace recto::verify

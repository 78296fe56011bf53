#include "verify/cases/property_case.h"

#include "verify/cases/case_shrinker.h"

namespace recto::verify {

CaseSpec draw_case(Draw& draw, const CaseDomain& domain) {
  const auto make = [domain](std::uint64_t bits) {
    RandomStream stream(bits);
    return draw_case(stream, domain);
  };
  return draw.custom("case", make, simpler_cases);
}

}  // namespace recto::verify

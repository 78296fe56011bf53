#include "verify/drawn_case.h"

#include "verify/generators/case_shrinker.h"

namespace recto::verify {

DescribedCase drawn_case(const CaseSpec& spec, const std::string& replay) {
  return {.law_case = {make_problem(spec), spec.placement},
          .description = spec.text(),
          .replay = replay,
          .simpler_cases = [spec, replay] {
            std::vector<std::function<DescribedCase()>> simpler;
            for (const CaseSpec& next : simpler_cases(spec)) {
              simpler.push_back([next, replay] { return drawn_case(next, replay); });
            }
            return simpler;
          }};
}

}  // namespace recto::verify

// A soft cap far above all scores changes them by a relative (x / cap)^2 / 3: 1e-52 at most in the
// domain, negligible next to any bound.

#include "verify/laws/law_trial.h"
#include "verify/laws/laws.h"

namespace recto::verify {
namespace {

LawCase with_softcap(LawCase law_case, float softcap) {
  law_case.problem.options.softcap = softcap;
  return law_case;
}

LawVerdict check(const Backend& backend, const LawCase& law_case, BoundKind bound_kind) {
  LawTrial trial(backend, bound_kind);
  trial.compare_within_bounds(with_softcap(law_case, 0.0F),
                              {{"soft cap 1e30", with_softcap(law_case, 1e30F)}});
  return trial.verdict();
}

}  // namespace

Law huge_softcap_law() {
  return {.name = "huge_softcap",
          .statement = "a soft cap of 1e30 equals none",
          .why_not_applicable = always_applicable,
          .check = check};
}

}  // namespace recto::verify

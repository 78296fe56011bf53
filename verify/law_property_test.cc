// Every backend of the reference against the oracle, as properties: counterexamples shrink with the
// generators' own shrinker.

#include "bazel/testing/property.h"
#include "verify/backend.h"
#include "verify/cases/property_case.h"
#include "verify/law.h"

namespace recto::verify {
namespace {

TEST_CASE("backends agree with the oracle") {
  const Law oracle = oracle_comparison();
  for (const Backend& backend : reference_backends()) {
    property(backend.name, [&oracle, &backend](Draw& draw) {
      const CaseSpec spec = draw_case(draw, CaseDomain{});
      const LawVerdict verdict =
          oracle.check(backend, {make_problem(spec), spec.placement}, BoundKind::kWorstCase);
      if (verdict.skipped) return;
      if (verdict.failed()) fail_case(verdict.details());
    });
  }
}

}  // namespace
}  // namespace recto::verify

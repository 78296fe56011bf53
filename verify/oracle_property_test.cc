// Every backend of the reference against the oracle, as rapidcheck properties: a counterexample
// shrinks by the generators' own shrinker.

#include "bazel/testing/property.h"
#include "verify/backend.h"
#include "verify/generators/rapidcheck_case.h"
#include "verify/oracle_comparison.h"

namespace recto::verify {
namespace {

TEST_CASE("backends agree with the oracle") {
  const Law oracle = oracle_comparison();
  for (const Backend& backend : reference_backends()) {
    rc::prop(backend.name, [&oracle, &backend] {
      const CaseSpec spec = *arbitrary_case(CaseDomain{});
      const LawVerdict verdict =
          oracle.check(backend, {make_problem(spec), spec.placement}, BoundKind::kHard);
      if (verdict.skipped) return;
      if (!verdict.comparison.passed()) RC_FAIL(verdict.comparison.text());
    });
  }
}

}  // namespace
}  // namespace recto::verify

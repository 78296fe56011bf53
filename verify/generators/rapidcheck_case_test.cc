#include "verify/generators/rapidcheck_case.h"

#include <sstream>
#include <string>
#include <vector>

#include "bazel/testing/property.h"

namespace recto::verify {
namespace {

TEST_CASE("drawn cases come in all sizes from the first on") {
  rc::prop("valid and in the domain", [] {
    const CaseSpec spec = *arbitrary_case(CaseDomain{});
    RC_CLASSIFY(spec.longest_context() > 40);
    RC_ASSERT(check_case(spec).is_ok());
  });
}

// The value that rapidcheck ends at, following the first shrink that fails, as it does.
CaseSpec shrunk_by_rapidcheck(const CasePredicate& fails, std::uint64_t seed) {
  rc::Shrinkable<CaseSpec> current = arbitrary_case(CaseDomain{})(rc::Random(seed), 0);
  for (;;) {
    rc::Seq<rc::Shrinkable<CaseSpec>> shrinks = current.shrinks();
    rc::Maybe<rc::Shrinkable<CaseSpec>> next = shrinks.next();
    while (next && !fails(next->value())) next = shrinks.next();
    if (!next) return current.value();
    current = *next;
  }
}

TEST_CASE("rapidcheck's shrinks lead to the minimal case, whatever it starts from") {
  const CasePredicate fails = [](const CaseSpec& spec) { return spec.shape.group() > 1; };
  CaseSpec minimal;
  minimal.shape.num_q_heads = 2;
  int tried = 0;
  for (std::uint64_t seed = 0; tried < 20; ++seed) {
    const CaseSpec drawn = arbitrary_case(CaseDomain{})(rc::Random(seed), 0).value();
    if (!fails(drawn)) continue;
    CHECK(shrunk_by_rapidcheck(fails, seed) == minimal);
    ++tried;
  }
}

TEST_CASE("the case does not depend on rapidcheck's size, only on its seed") {
  const auto draw = [](std::uint64_t seed, int size) {
    return arbitrary_case(CaseDomain{})(rc::Random(seed), size).value();
  };
  CHECK(draw(3, 0) == draw(3, 100));
  CHECK_FALSE(draw(3, 0) == draw(4, 0));
}

TEST_CASE("rapidcheck shows a case as its block") {
  std::ostringstream out;
  rc::show(CaseSpec{}, out);
  CHECK(out.str() == "\n" + CaseSpec{}.text());
}

}  // namespace
}  // namespace recto::verify

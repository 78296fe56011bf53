#include "verify/cases/property_case.h"

#include <vector>

#include "bazel/testing/property.h"

namespace recto::verify {
namespace {

TEST_CASE("drawn cases come in all sizes from the first on") {
  property("valid and in the domain", [](Draw& draw) {
    const CaseSpec spec = draw_case(draw, CaseDomain{});
    if (spec.longest_context() > 40) draw.classify("spec.longest_context() > 40");
    RECTO_REQUIRE(check_case(spec).is_ok());
  });
}

TEST_CASE("a property's shrinks lead to the minimal case, whatever it starts from") {
  CaseSpec minimal;
  minimal.shape.num_q_heads = 2;
  int tried = 0;
  for (std::uint64_t seed = 0; tried < 20; ++seed) {
    CaseSpec last_failed;
    const auto has_no_group = [&last_failed](Draw& draw) {
      const CaseSpec spec = draw_case(draw, CaseDomain{});
      if (spec.shape.group() == 1) return;
      last_failed = spec;
      fail_case("a group");
    };
    if (check_property(has_no_group, {.seed = seed, .cases = 1}).holds) continue;
    CHECK(last_failed == minimal);
    ++tried;
  }
}

TEST_CASE("the case does not depend on a property's size, only on its seed") {
  const auto drawn = [](std::uint64_t seed, int size_max) {
    std::vector<CaseSpec> specs;
    check_property([&specs](Draw& draw) { specs.push_back(draw_case(draw, CaseDomain{})); },
                   {.seed = seed, .cases = 3, .size_max = size_max});
    return specs;
  };
  CHECK(drawn(3, 0) == drawn(3, 100));
  CHECK_FALSE(drawn(3, 0) == drawn(4, 0));
}

TEST_CASE("a property shows a case as its block") {
  const PropertyResult found = check_property([](Draw& draw) {
    draw_case(draw, CaseDomain{});
    fail_case("as all do");
  });
  CHECK_THAT(found.text, Catch::Matchers::ContainsSubstring("case:\n" + CaseSpec{}.text()));
}

}  // namespace
}  // namespace recto::verify

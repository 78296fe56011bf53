// Which probes run on a card of a given compute capability.

#include "verify/simt/hardware/probes.h"

#include <set>
#include <string>

#include "bazel/testing/catch.h"

namespace recto::simt {
namespace {

using Catch::Matchers::ContainsSubstring;

TEST_CASE("instructions of sm_90 are probed only on cards that have them") {
  std::set<std::string> names;
  std::set<std::string> left_out;
  for (const Probe& probe : probes()) {
    names.insert(probe.name);
    CHECK(why_not_run(probe, 90) == nullptr);
    if (why_not_run(probe, 80) != nullptr) left_out.insert(probe.name);
  }
  CHECK(names.size() == probes().size());
  CHECK(left_out == std::set<std::string>{"copy_bulk", "mbarrier"});
}

TEST_CASE("an instruction compiled for older cards is not probed on any card") {
  Probe probe = {.compute_capability = 90, .is_compiled = false};
  CHECK_THAT(why_not_run(probe, 80), ContainsSubstring("the card is too old"));
  CHECK_THAT(why_not_run(probe, 90), ContainsSubstring("compiled for older cards"));
  probe.is_compiled = true;
  CHECK(why_not_run(probe, 100) == nullptr);
}

}  // namespace
}  // namespace recto::simt

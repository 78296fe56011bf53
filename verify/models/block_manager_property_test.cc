// Random sequences of commands on the block manager and on its model: the same answers, counts,
// tables and contents after every command. A failure is shrunk to the fewest commands that show it.

#include <iostream>
#include <sstream>

#include "bazel/testing/property.h"
#include "core/contract.h"
#include "verify/models/cache_scenario.h"
#include "verify/models/lockstep.h"

namespace recto::verify {

// Found by rapidcheck where it prints counterexamples.
void showValue(const CacheScenario& scenario, std::ostream& out) { out << '\n' << scenario; }

namespace {

Happenings& happenings() {
  static Happenings happenings;
  return happenings;
}

rc::Seq<CacheScenario> shrinks(const CacheScenario& scenario) {
  return rc::seq::fromContainer(simpler_scenarios(scenario));
}

rc::Gen<CacheScenario> arbitrary_scenario(const ScenarioDomain& domain) {
  return [domain](const rc::Random& random, int) {
    rc::Random seeds = random;
    RandomStream stream(seeds.next());
    return rc::shrinkable::shrinkRecur(draw_scenario(stream, domain), shrinks);
  };
}

void check_scenario(const CacheScenario& scenario) {
  Lockstep lockstep(scenario.options, scenario.how, happenings());
  try {
    for (const CacheCommand& command : scenario.commands) lockstep.run(command);
  } catch (const ContractFailure& failure) {
    RC_FAIL(std::string(failure.what()) + "\nafter" + lockstep.log());
  }
}

void check_domain(const ScenarioDomain& domain) { check_scenario(*arbitrary_scenario(domain)); }

TEST_CASE("the block manager does what its model does") {
  rc::prop("on any cache", [] { check_domain({}); });
  rc::prop("with one table for all layers",
           [] { check_domain({.groups_max = 1, .has_windows = false}); });
  rc::prop("with windows", [] { check_domain({.groups_max = 2, .has_swaps = false}); });
  rc::prop("where a handful of blocks must do",
           [] { check_domain({.blocks_min = 2, .blocks_max = 5, .groups_max = 1}); });
  rc::prop("where there is room", [] { check_domain({.blocks_min = 25, .groups_max = 2}); });
  rc::prop("without keys and swaps", [] { check_domain({.has_swaps = false, .has_keys = false}); });
  rc::prop("over many commands", [] { check_domain({.commands_max = 1500}); });
}

TEST_CASE("the random commands met everything that can happen") {
  const Happenings& seen = happenings();
  if (seen.answers(CommandKind::kAdmit, StatusCode::kOk) == 0) {
    RECTO_SKIP("the cases before were filtered out");
  }
  seen.print(std::cout);
  for (int i = 0; i < kNumHappenings; ++i) {
    INFO(happening_name(static_cast<Happening>(i)));
    CHECK(seen.times(static_cast<Happening>(i)) > 0);
  }
}

}  // namespace
}  // namespace recto::verify

// Random sequences of commands on the block manager and on its model: the same answers, counts,
// tables and contents after every command. A failure is shrunk to the fewest commands that show it.

#include <iostream>
#include <string>

#include "bazel/testing/property.h"
#include "core/contract.h"
#include "verify/models/cache_scenario.h"
#include "verify/models/lockstep.h"

namespace recto::verify {

namespace {

Happenings& happenings() {
  static Happenings happenings;
  return happenings;
}

CacheScenario draw_any(Draw& draw, const ScenarioDomain& domain) {
  const auto make = [domain](std::uint64_t bits) {
    RandomStream stream(bits);
    return draw_scenario(stream, domain);
  };
  return draw.custom("scenario", make, simpler_scenarios);
}

void check_scenario(const CacheScenario& scenario) {
  Lockstep lockstep(scenario.options, scenario.how, happenings());
  try {
    for (const CacheCommand& command : scenario.commands) lockstep.run(command);
  } catch (const ContractFailure& failure) {
    fail_case(std::string(failure.what()) + "\nafter" + lockstep.log());
  }
}

void check_domain(Draw& draw, const ScenarioDomain& domain) {
  check_scenario(draw_any(draw, domain));
}

TEST_CASE("the block manager does what its model does") {
  property("on any cache", [](Draw& draw) { check_domain(draw, {}); });
  property("with one table for all layers",
           [](Draw& draw) { check_domain(draw, {.groups_max = 1, .has_windows = false}); });
  property("with windows",
           [](Draw& draw) { check_domain(draw, {.groups_max = 2, .has_swaps = false}); });
  property("where a handful of blocks must do", [](Draw& draw) {
    check_domain(draw, {.blocks_min = 2, .blocks_max = 5, .groups_max = 1});
  });
  property("where there is room",
           [](Draw& draw) { check_domain(draw, {.blocks_min = 25, .groups_max = 2}); });
  property("without keys and swaps",
           [](Draw& draw) { check_domain(draw, {.has_swaps = false, .has_keys = false}); });
  property("over many commands", [](Draw& draw) { check_domain(draw, {.commands_max = 1500}); });
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

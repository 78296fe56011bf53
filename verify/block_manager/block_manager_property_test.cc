// Random commands on the block manager and on its model: answers, counts, tables and contents must
// be equal after every command. A failure is shrunk to the fewest commands that show it.

#include <iostream>
#include <string>
#include <string_view>

#include "bazel/testing/property.h"
#include "core/contract.h"
#include "cuda/cache/testing/cache_scenario.h"
#include "verify/block_manager/testing/lockstep.h"

namespace recto::verify {
namespace {

using cache::testing::CacheCommand;
using cache::testing::CacheScenario;
using cache::testing::CommandKind;
using cache::testing::Coverage;
using cache::testing::ScenarioDomain;

Coverage& coverage() {
  static Coverage coverage;
  return coverage;
}

CacheScenario draw_any(Draw& draw, const ScenarioDomain& domain) {
  const auto make = [domain](std::uint64_t bits) {
    RandomStream stream(bits);
    return cache::testing::draw_scenario(stream, domain);
  };
  return draw.custom("scenario", make, cache::testing::simpler_scenarios);
}

void check_scenario(const CacheScenario& scenario) {
  Lockstep lockstep(scenario.options, scenario.alphabet, coverage());
  try {
    for (const CacheCommand& command : scenario.commands) lockstep.run(command);
  } catch (const ContractFailure& failure) {
    fail_case(std::string(failure.what()) + "\nafter" + lockstep.walk().log());
  }
}

void check_domain(Draw& draw, const ScenarioDomain& domain) {
  check_scenario(draw_any(draw, domain));
}

TEST_CASE("the block manager agrees with its model") {
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
  const Coverage& seen = coverage();
  if (seen.answers(CommandKind::kAdmit, StatusCode::kOk) == 0) {
    RECTO_SKIP("the cases before were filtered out");
  }
  seen.print(std::cout);
  for (const std::string_view event : cache::testing::coverage_events()) {
    INFO(event);
    CHECK(seen.times(event) > 0);
  }
}

}  // namespace
}  // namespace recto::verify

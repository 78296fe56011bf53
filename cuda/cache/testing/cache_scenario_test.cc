#include "cuda/cache/testing/cache_scenario.h"

#include <sstream>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "core/random_stream.h"

namespace recto::cache::testing {
namespace {

std::string text_of(const CacheScenario& scenario) {
  std::ostringstream text;
  text << scenario;
  return text.str();
}

TEST_CASE("a scenario is restored from its bytes") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    RandomStream stream(seed);
    const CacheScenario drawn = draw_scenario(stream, {.blocks_max = 12, .groups_max = 2});
    CHECK(drawn.commands.size() >= 75);
    CHECK(text_of(scenario_of(drawn.domain, drawn.bytes)) == text_of(drawn));
  }
}

TEST_CASE("any bytes decode to a scenario of at most commands_max commands") {
  const ScenarioDomain domain{.commands_max = 10};
  CHECK(scenario_of(domain, "").commands.empty());
  CHECK(scenario_of(domain, std::string(1000, '\xff')).commands.size() == 10);
  CHECK(scenario_of(domain, std::string(64, '\0') + "\x09").commands.size() == 1);
}

TEST_CASE("a simpler scenario has fewer commands, or smaller bytes") {
  RandomStream stream(5);
  const CacheScenario drawn = draw_scenario(stream, {.commands_max = 20});
  const std::vector<CacheScenario> simpler = simpler_scenarios(drawn);
  CHECK(simpler.front().commands.empty());
  for (const CacheScenario& scenario : simpler) {
    const bool is_shorter = scenario.commands.size() < drawn.commands.size();
    CHECK((is_shorter || scenario.bytes < drawn.bytes));
  }
  CHECK(simpler_scenarios(scenario_of({}, std::string(64, '\0'))).empty());
}

}  // namespace
}  // namespace recto::cache::testing

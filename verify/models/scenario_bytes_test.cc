#include "verify/models/scenario_bytes.h"

#include <sstream>

#include "bazel/testing/catch.h"

namespace recto::verify {
namespace {

std::string text_of(const CacheScenario& scenario) {
  std::ostringstream text;
  text << scenario;
  return text.str();
}

TEST_CASE("a scenario comes back from its bytes") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    RandomStream stream(seed);
    const CacheScenario drawn = draw_scenario(stream, {.blocks_max = 12, .groups_max = 2});
    const CacheScenario once = scenario_from_bytes(bytes_of_scenario(drawn), 1000);
    CHECK(once.commands == drawn.commands);
    CHECK(once.options.block_size == drawn.options.block_size);
    CHECK(once.options.groups.size() == drawn.options.groups.size());
    CHECK(text_of(scenario_from_bytes(bytes_of_scenario(once), 1000)) == text_of(once));
  }
}

TEST_CASE("any bytes are a scenario, with no more commands than are wanted") {
  CHECK(scenario_from_bytes("", 10).commands.empty());
  CHECK(scenario_from_bytes(std::string(1000, '\xff'), 10).commands.size() == 10);
  CHECK(scenario_from_bytes(std::string(15, '\0') + "\x09", 10).commands.size() == 1);
}

}  // namespace
}  // namespace recto::verify

#pragma once

// A cache and a list of commands for it, as one value that properties draw, print and shrink, and
// that fuzz tests make from their input. Any bytes are a scenario: the first ones select the
// options of the cache, and each command has its own bytes after them, so that changing, removing
// or repeating bytes has a local effect. Smaller bytes give simpler scenarios, which is how
// scenarios shrink (MacIver and Donaldson, ECOOP 2020).
//
// Pools are small so that they run out, and alphabets are small so that equal texts recur. Each
// scenario leaves out some kinds of commands, so that none always hides another (swarm testing:
// Groce et al., ISSTA 2012).

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "core/random_stream.h"
#include "cuda/cache/cache_options.h"
#include "cuda/cache/testing/cache_command.h"

namespace recto::cache::testing {

// The range of scenarios.
struct ScenarioDomain {
  std::int64_t blocks_min = 1;
  std::int64_t blocks_max = 40;
  std::int32_t groups_max = 3;
  bool has_windows = true;
  bool has_weak_hashes = true;  // masks that make collisions, in half of the scenarios
  bool has_swaps = true;
  bool has_keys = true;  // LoRA ids, salts and items
  std::int64_t commands_max = 300;
};

struct CacheScenario {
  CacheOptions options = {};
  std::int32_t alphabet = 1;
  std::vector<CacheCommand> commands = {};
  ScenarioDomain domain = {};
  std::string bytes = {};  // the bytes that it was made from
};

std::ostream& operator<<(std::ostream& out, const CacheScenario& scenario);

// Makes a scenario from any bytes; a manager can always be created with its options. Missing bytes
// are 0; bytes after the last command that the domain allows are ignored.
CacheScenario scenario_of(const ScenarioDomain& domain, const std::string& bytes);

// Draws random bytes, with at least a quarter of the commands that the domain allows.
CacheScenario draw_scenario(RandomStream& stream, const ScenarioDomain& domain);

// Some simpler scenarios, simplest first; each is a step towards one block and no commands.
std::vector<CacheScenario> simpler_scenarios(const CacheScenario& scenario);

}  // namespace recto::cache::testing

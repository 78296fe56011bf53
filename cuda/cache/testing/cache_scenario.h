#pragma once

// A cache and what is done to it, as one value: what a property draws, prints and shrinks, and what
// a fuzz test makes of its input. Any bytes are a scenario: some of the first say what the cache is
// like, and each command has bytes of its own after them, so that what is changed, left out or
// repeated has a local effect. The smaller the bytes, the simpler the scenario, which is how one is
// shrunk (MacIver and Donaldson, ECOOP 2020).
//
// Pools are small so that they run out, and alphabets so that equal texts recur. Each scenario
// leaves out some kinds of commands, so that none always hides another (swarm testing: Groce et
// al., ISSTA 2012).

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "core/random_stream.h"
#include "cuda/cache/cache_options.h"
#include "cuda/cache/testing/cache_command.h"

namespace recto::cache::testing {

// What scenarios may be like.
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
  std::string bytes = {};  // what it was made of
};

std::ostream& operator<<(std::ostream& out, const CacheScenario& scenario);

// A scenario of any bytes, with which a manager can be created. Bytes that are missing are 0; those
// behind the last command that the domain allows are ignored.
CacheScenario scenario_of(const ScenarioDomain& domain, const std::string& bytes);

// Of random bytes, with at least a quarter of the commands that the domain allows.
CacheScenario draw_scenario(RandomStream& stream, const ScenarioDomain& domain);

// Some simpler scenarios, simplest first; each is a step towards an empty list of commands on one
// block.
std::vector<CacheScenario> simpler_scenarios(const CacheScenario& scenario);

}  // namespace recto::cache::testing

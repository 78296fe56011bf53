#pragma once

// A cache and what is done to it, as one value: what a property draws, prints and shrinks. Pools
// are small so that they run out, and alphabets so that equal texts recur. Each scenario leaves out
// some kinds of commands, so that none always hides another (swarm testing: Groce et al., ISSTA
// 2012).

#include <cstdint>
#include <ostream>
#include <vector>

#include "core/random_stream.h"
#include "cuda/cache/cache_options.h"
#include "verify/models/cache_command.h"
#include "verify/models/lockstep.h"

namespace recto::verify {

struct CacheScenario {
  cache::CacheOptions options = {};
  LockstepOptions how = {};
  std::vector<CacheCommand> commands = {};
};

std::ostream& operator<<(std::ostream& out, const CacheScenario& scenario);

// What may be drawn.
struct ScenarioDomain {
  std::int64_t blocks_min = 2;
  std::int64_t blocks_max = 40;
  std::int32_t groups_max = 3;
  bool has_windows = true;
  bool has_weak_hashes = true;  // masks that make collisions, in half of the scenarios
  bool has_swaps = true;
  bool has_keys = true;  // LoRA ids, salts and items
  std::int64_t commands_max = 300;
};

// Draws options with which a manager can be created, and commands.
CacheScenario draw_scenario(RandomStream& stream, const ScenarioDomain& domain);

// Some simpler scenarios, simplest first; each is a step towards an empty list of commands on one
// block.
std::vector<CacheScenario> simpler_scenarios(const CacheScenario& scenario);

}  // namespace recto::verify

#pragma once

// All sequences of commands up to a length, on a cache so small that they can be counted through:
// breadth first, each state once (up to renaming of blocks and sequences), manager and model
// compared after each command. A manager can't be copied, so that a state is reached by its
// commands again.
//
// "Each state once" is by what the model remembers, and which blocks the manager has marked as
// unevenly used (one bit each): what else a manager remembers is not told apart, so that a state
// with another memory of that kind may not be explored. Commands are those of all_commands: appends
// of one token of the alphabet or of two, no misuse, no collisions of hashes.
// small_scope_test.cc has the scopes, docs/block_manager.md what they lack, and the counts.

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "cuda/cache/cache_options.h"
#include "verify/models/cache_command.h"
#include "verify/models/lockstep.h"

namespace recto::verify {

struct SmallScope {
  std::string name = {};
  cache::CacheOptions options = {};
  LockstepOptions how = {.alphabet = 2, .remembered_max = 1};
  std::vector<CacheCommand> prompts = {};  // count, token and extra of admissions
  std::vector<CommandKind> kinds = {};     // beside admit
  std::int32_t lookahead_max = 1;          // of reserve and swap in
  int depth = 0;                           // commands
};

struct ScopeReport {
  std::int64_t states = 0;       // that differ
  std::int64_t transitions = 0;  // commands tried in all of them, the deepest left out
  int depth = 0;                 // of the deepest state
  // No command leads out of these states: sequences of any length were explored.
  bool is_closed = false;
};

// The commands that mean something different in this state.
std::vector<CacheCommand> all_commands(const Lockstep& lockstep, const SmallScope& scope);

// Breaks a contract where manager and model differ, naming the fewest commands that lead there.
ScopeReport explore(const SmallScope& scope);

std::ostream& operator<<(std::ostream& out, const ScopeReport& report);

}  // namespace recto::verify

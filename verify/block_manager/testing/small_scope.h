#pragma once

// Tries all sequences of commands up to a length, on a cache so small that they can be enumerated.
// The search is breadth first, visits each state once (up to renaming of blocks and sequences), and
// compares manager and model after each command. A manager cannot be copied, so a state is reached
// again by replaying its commands.
//
// Two states are equal if the model remembers the same, and the manager has marked the same blocks
// as unevenly used (one bit each). States that differ in anything else that a manager remembers may
// stay unexplored. Appends are of one or two tokens of the alphabet. No handle is misused, and no
// two hashes are equal. small_scope_test.cc has the scopes; docs/block_manager.md says what they
// lack, and has the counts.

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "cuda/cache/cache_options.h"
#include "cuda/cache/testing/cache_command.h"
#include "verify/block_manager/testing/lockstep.h"

namespace recto::verify {

struct SmallScope {
  std::string name = {};
  cache::CacheOptions options = {};
  std::int32_t alphabet = 2;                               // number of distinct tokens
  std::vector<cache::testing::CacheCommand> prompts = {};  // count, token and extra of admissions
  std::vector<cache::testing::CommandKind> kinds = {};     // besides admit
  std::int32_t lookahead_max = 1;                          // of reserve and swap in
  int depth = 0;                                           // commands
};

struct ScopeReport {
  std::int64_t states = 0;       // distinct ones
  std::int64_t transitions = 0;  // commands tried in all states but the deepest
  int depth = 0;                 // of the deepest state
  // No command leads out of these states, so sequences of any length were explored.
  bool is_closed = false;
};

// Breaks a contract if manager and model differ; the message has the fewest commands that lead
// there.
ScopeReport explore(const SmallScope& scope);

std::ostream& operator<<(std::ostream& out, const ScopeReport& report);

}  // namespace recto::verify

#pragma once

// The parts of check_invariants, one for each thing that is recomputed from scratch.

#include <string>

#include "core/contract.h"
#include "core/status.h"
#include "cuda/cache/cache_core.h"

namespace recto::cache {

// Failed, with the name of the pool, unless references, lists, tables and counters agree.
Status check_holdings(const CacheCore& core, const Holdings& holdings, const std::string& name);

// Failed unless the hash table, nodes, blocks, chains and pins point at each other.
Status check_index(const CacheCore& core);

// Failed unless the lengths, states, runs and transfers of sequences are possible ones.
Status check_sequences(const CacheCore& core);

// Failed, with both values, unless they are equal.
template <typename Left, typename Right>
Status expect_same(const std::string& what, const Left& is, const Right& expected) {
  if (is == expected) return Status::ok();
  return Status::failed(what + " is " + internal::describe(is) + "; expected " +
                        internal::describe(expected));
}

}  // namespace recto::cache

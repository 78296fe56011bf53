#pragma once

// The parts of check_invariants, one for each thing that is recomputed from scratch.

#include <string>

#include "core/status.h"
#include "cuda/cache/cache_core.h"
#include "cuda/cache/message.h"

namespace recto::cache::testing {

// Failed, with the name of the pool, unless references, lists, tables and counters agree.
Status check_holdings(const CacheCore& core, const Holdings& holdings, const std::string& name);

// Failed unless the hash table, nodes, blocks, chains and pins point at each other.
Status check_index(const CacheCore& core);

// Failed, with a message composed of parts.
template <typename... Parts>
Status broken(const Parts&... parts) {
  return Status::failed(message(parts...));
}

// Failed, with both values and their description, unless they are equal.
template <typename Left, typename Right, typename... Parts>
Status expect_same(const Left& is, const Right& expected, const Parts&... what) {
  return is == expected ? Status::ok() : broken(what..., " is ", is, "; expected ", expected);
}

}  // namespace recto::cache::testing

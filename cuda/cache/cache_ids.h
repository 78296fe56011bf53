#pragma once

// The numbers by which the parts of a cache name things to each other.

#include <cstdint>

#include "core/units.h"

namespace recto::cache {

// An entry of a table that has no block: no row will see its tokens.
inline constexpr BlockId kNoBlock{-1};

// A block's worth of tokens behind a parent, in the prefix index.
using NodeId = Ordinal<struct NodeIdTag, Quantity<struct NodeCountTag>, std::int32_t>;

// The parent of first blocks, which is no node.
inline constexpr NodeId kRoot{-1};

// What is in a block: a node, for a layer group.
using ContentId = Ordinal<struct ContentIdTag, Quantity<struct ContentCountTag>, std::int32_t>;

inline constexpr ContentId kNoContent{-1};

}  // namespace recto::cache

#pragma once

// The numbers by which the parts of a cache name things to each other.

#include <cstdint>

#include "core/units.h"

namespace recto::cache {

// A table entry without a block: no row will see its tokens.
inline constexpr BlockId kNoBlock{-1};

// A block's worth of tokens after a parent, in the prefix index.
using NodeId = Ordinal<struct NodeIdTag, Quantity<struct NodeCountTag>, std::int32_t>;

// The parent of first blocks, which is not a node itself.
inline constexpr NodeId kRoot{-1};

// The content of a block: that of a node, for one layer group.
using ContentId = Ordinal<struct ContentIdTag, Quantity<struct ContentCountTag>, std::int32_t>;

inline constexpr ContentId kNoContent{-1};

}  // namespace recto::cache

#pragma once

// Handles by which callers name what a manager keeps for them: an index, and a generation that says
// which of the successive uses of that index is meant, so that stale handles are recognized.
//
//   const SequenceHandle handle = manager.admit(prompt).value().sequence;
//   const Status first = manager.release(handle);
//   const Status second = manager.release(handle);  // invalid input: the handle is stale

#include <cstdint>
#include <ostream>

#include "core/units.h"

namespace recto::cache {

// Equal handles of one manager name the same thing; a default one names nothing. A handle does not
// say which manager it belongs to: another manager takes it for whatever it has under that index
// and generation, if anything. The handles of an index repeat after 2^32 - 1 generations; by then
// nobody should still have the old ones.
template <typename Tag>
struct Handle {
  std::int32_t index = 0;
  std::uint32_t generation = 0;

  friend bool operator==(const Handle&, const Handle&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Handle& handle) {
    return out << handle.index << " (generation " << handle.generation << ")";
  }
};

using SequenceHandle = Handle<struct SequenceTag>;
using TransferHandle = Handle<struct TransferTag>;
using PinHandle = Handle<struct PinTag>;

// A table entry without a block: no row will see its tokens.
inline constexpr BlockId kNoBlock{-1};

// Inside a manager: a block's worth of tokens after a parent, in the prefix index.
using NodeId = Ordinal<struct NodeIdTag, Quantity<struct NodeCountTag>, std::int32_t>;

// The parent of first blocks, which is not a node itself.
inline constexpr NodeId kRoot{-1};

// Inside a manager: the content of a block, which is that of a node, for one layer group.
using ContentId = Ordinal<struct ContentIdTag, Quantity<struct ContentCountTag>, std::int32_t>;

inline constexpr ContentId kNoContent{-1};

}  // namespace recto::cache

#pragma once

// Handles that name a manager's sequences, transfers and pins: an index, and a generation that
// numbers the successive uses of that index, so that stale handles are recognized.
//
//   const SequenceHandle handle = manager.admit(prompt).value().sequence;
//   const Status first = manager.release(handle);
//   const Status second = manager.release(handle);  // invalid input: the handle is stale

#include <cstdint>
#include <ostream>

#include "core/units.h"

namespace recto::cache {

// Equal handles of one manager name the same object; a default handle names nothing. A handle does
// not identify its manager: another manager interprets it as its own object with that index and
// generation, if any. The handles of an index repeat after 2^32 - 1 generations; by then no caller
// should still have the old ones.
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

// Inside a manager: the content of a block: the content of a node, for one layer group.
using ContentId = Ordinal<struct ContentIdTag, Quantity<struct ContentCountTag>, std::int32_t>;

inline constexpr ContentId kNoContent{-1};

}  // namespace recto::cache

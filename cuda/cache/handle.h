#pragma once

// Handles by which callers name what a manager keeps for them: an index, and a generation that says
// which of the successive uses of that index is meant, so that stale handles are recognized.
//
//   const SequenceHandle handle = manager.admit(prompt).value().sequence;
//   const Status first = manager.release(handle);
//   const Status second = manager.release(handle);  // invalid input: that life is over

#include <cstdint>
#include <ostream>

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

}  // namespace recto::cache

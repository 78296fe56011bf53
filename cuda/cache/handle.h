#pragma once

// How callers name what a manager keeps for them: a place, and which of the lives of that place is
// meant, so that a name that is no longer good is told from those that are.
//
//   const SequenceHandle handle = manager.admit(prompt).value().sequence;
//   const Status first = manager.release(handle);
//   const Status second = manager.release(handle);  // invalid input: that life is over

#include <cstdint>
#include <ostream>

namespace recto::cache {

// Equal handles name the same thing of one manager; a default one names nothing. Of another manager
// a handle names what has that place and that life there, if anything: a handle does not say whose
// it is. An index is used again after 2^32 - 1 generations only under names that nobody should
// still have.
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

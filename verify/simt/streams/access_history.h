#pragma once

// What operations have done to memory, as far as one that comes next may conflict with it: as in
// FastTrack (Flanagan and Freund, 2009), for ranges of bytes.

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "verify/simt/executor/observer.h"
#include "verify/simt/streams/operation_order.h"

namespace recto::simt {

// Whether two accesses to the same bytes need an order. Reads do not, nor do atomic operations
// among themselves.
bool needs_order(AccessKind one, AccessKind other);

// Two operations that touch the same bytes, and none comes before the other.
struct UnorderedAccess {
  OperationId operation = 0;  // the one that ran before
  AccessKind kind = AccessKind::kRead;
  TouchedRange range = {};  // some of the bytes, and what the one that runs now does to them
};

class AccessHistory {
 public:
  explicit AccessHistory(const OperationOrder& order) : order_(order) {}

  // The operation runs, after all that come before it have. Those that it conflicts with, each
  // once; of operations that all come before each other only the last. O(log n + k) for each range,
  // with n pieces of memory in all, k of them in the range; neighbours with the same history are
  // one piece.
  std::vector<UnorderedAccess> note(OperationId operation, std::span<const TouchedRange> ranges);

  // All that will run comes after all that has.
  void clear() { pieces_.clear(); }
  std::size_t pieces() const { return pieces_.size(); }

 private:
  struct Access {
    OperationId operation = 0;
    AccessKind kind = AccessKind::kRead;

    friend bool operator==(const Access&, const Access&) = default;
  };
  // The accesses that a further one may conflict with: one or two of each chain.
  struct Piece {
    std::uintptr_t end = 0;
    std::vector<Access> accesses = {};
  };
  using Pieces = std::map<std::uintptr_t, Piece>;  // by begin; they do not overlap

  void note_range(OperationId operation, const TouchedRange& range,
                  std::vector<UnorderedAccess>& found);
  // The first piece that begins at the address or behind it; one across it is divided.
  Pieces::iterator split_at(std::uintptr_t address);
  void add(Piece& piece, const Access& access) const;
  // The piece, or the one it has become a part of.
  Pieces::iterator merge_with_previous(Pieces::iterator piece);

  const OperationOrder& order_;
  Pieces pieces_;
};

}  // namespace recto::simt

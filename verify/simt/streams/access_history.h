#pragma once

// The accesses of earlier operations with which a later one may conflict. Like FastTrack (Flanagan
// and Freund, 2009), but for ranges of bytes.

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "verify/simt/executor/observer.h"
#include "verify/simt/streams/operation_order.h"

namespace recto::simt {

// Whether two accesses to the same bytes must be ordered. Two reads need not be, nor two atomic
// operations.
bool needs_order(AccessKind one, AccessKind other);

// Two operations that touch the same bytes, neither ordered before the other.
struct UnorderedAccess {
  OperationId operation = 0;  // the one that ran before
  AccessKind kind = AccessKind::kRead;
  TouchedRange range = {};  // some of the bytes, and the current operation's kind of access to them
};

class AccessHistory {
 public:
  explicit AccessHistory(const OperationOrder& order) : order_(order) {}

  // The operation runs now, after all that are ordered before it. Returns those that it conflicts
  // with, each once; of a chain of ordered operations, only the last. O(log n + k) for each range,
  // with n pieces of memory in all, k of them in the range; adjacent bytes with the same history
  // form one piece.
  std::vector<UnorderedAccess> note(OperationId operation, std::span<const TouchedRange> ranges);

  // Everything that runs from now on is ordered after everything that has run.
  void clear() { pieces_.clear(); }
  std::size_t pieces() const { return pieces_.size(); }

 private:
  struct Access {
    OperationId operation = 0;
    AccessKind kind = AccessKind::kRead;

    friend bool operator==(const Access&, const Access&) = default;
  };
  // The accesses with which a later one may conflict: one or two of each chain.
  struct Piece {
    std::uintptr_t end = 0;
    std::vector<Access> accesses = {};
  };
  using Pieces = std::map<std::uintptr_t, Piece>;  // by begin; pieces do not overlap

  void note_range(OperationId operation, const TouchedRange& range,
                  std::vector<UnorderedAccess>& found);
  // The first piece that begins at or after the address; splits a piece that spans it.
  Pieces::iterator split_at(std::uintptr_t address);
  void add(Piece& piece, const Access& access) const;
  // Returns the piece, or the one into which it was merged.
  Pieces::iterator merge_with_previous(Pieces::iterator piece);

  const OperationOrder& order_;
  Pieces pieces_;
};

}  // namespace recto::simt

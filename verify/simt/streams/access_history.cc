#include "verify/simt/streams/access_history.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

namespace recto::simt {
namespace {

constexpr std::array<AccessKind, 4> kAccessKinds = {AccessKind::kRead, AccessKind::kWrite,
                                                    AccessKind::kAtomicRead, AccessKind::kAtomic};

// Whether everything that conflicts with `other` also conflicts with `one`.
bool covers(AccessKind one, AccessKind other) {
  return std::ranges::all_of(kAccessKinds, [&](AccessKind third) {
    return needs_order(one, third) || !needs_order(other, third);
  });
}

}  // namespace

bool needs_order(AccessKind one, AccessKind other) {
  if (one == AccessKind::kWrite || other == AccessKind::kWrite) return true;
  return (one == AccessKind::kAtomic && other == AccessKind::kRead) ||
         (one == AccessKind::kRead && other == AccessKind::kAtomic);
}

std::vector<UnorderedAccess> AccessHistory::note(OperationId operation,
                                                 std::span<const TouchedRange> ranges) {
  std::vector<UnorderedAccess> found;
  for (const TouchedRange& range : ranges) {
    if (range.begin < range.end) note_range(operation, range, found);
  }
  return found;
}

void AccessHistory::note_range(OperationId operation, const TouchedRange& range,
                               std::vector<UnorderedAccess>& found) {
  const auto note_conflicts = [&](const Piece& piece, std::uintptr_t begin) {
    for (const Access& past : piece.accesses) {
      const bool is_known =
          std::ranges::find(found, past.operation, &UnorderedAccess::operation) != found.end();
      if (is_known || past.operation == operation || !needs_order(past.kind, range.kind) ||
          order_.precedes(past.operation, operation)) {
        continue;
      }
      found.push_back({past.operation, past.kind, {begin, piece.end, range.kind}});
    }
  };
  split_at(range.end);
  auto at = split_at(range.begin);
  for (std::uintptr_t begin = range.begin; begin < range.end;) {
    if (at == pieces_.end() || at->first > begin) {
      const std::uintptr_t end = at == pieces_.end() ? range.end : std::min(range.end, at->first);
      at = pieces_.emplace_hint(at, begin, Piece{end});
    }
    note_conflicts(at->second, begin);
    add(at->second, {operation, range.kind});
    begin = at->second.end;
    at = std::next(merge_with_previous(at));
  }
  if (at != pieces_.end()) merge_with_previous(at);
}

AccessHistory::Pieces::iterator AccessHistory::split_at(std::uintptr_t address) {
  const auto after = pieces_.lower_bound(address);
  if (after == pieces_.begin() || (after != pieces_.end() && after->first == address)) return after;
  Piece& before = std::prev(after)->second;
  if (before.end <= address) return after;
  Piece upper = before;
  before.end = address;
  return pieces_.emplace_hint(after, address, std::move(upper));
}

// An older access is no longer needed if every access that is unordered with it is also unordered
// with this one, and conflicts with it if it conflicts with the older.
void AccessHistory::add(Piece& piece, const Access& access) const {
  const auto is_own = [&](const Access& past) { return past.operation == access.operation; };
  if (std::ranges::any_of(piece.accesses, [&](const Access& past) {
        return is_own(past) && covers(past.kind, access.kind);
      })) {
    return;
  }
  std::erase_if(piece.accesses, [&](const Access& past) {
    return covers(access.kind, past.kind) &&
           (is_own(past) || order_.precedes(past.operation, access.operation));
  });
  piece.accesses.push_back(access);
}

AccessHistory::Pieces::iterator AccessHistory::merge_with_previous(Pieces::iterator piece) {
  if (piece == pieces_.begin()) return piece;
  const auto before = std::prev(piece);
  if (before->second.end != piece->first || before->second.accesses != piece->second.accesses) {
    return piece;
  }
  before->second.end = piece->second.end;
  pieces_.erase(piece);
  return before;
}

}  // namespace recto::simt

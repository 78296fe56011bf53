#pragma once

// Records accesses and determines the conflicts between them.

#include <cstdint>

#include "verify/simt/checks/access_order.h"
#include "verify/simt/checks/access_record.h"
#include "verify/simt/checks/access_stamp.h"
#include "verify/simt/executor/observer.h"

namespace recto::simt {

enum class ConflictKind : std::uint8_t {
  kNone,
  kWithWrite,
  kWithRead,
  kUninitialised,
  kPending,
};

// A conflict of an access with an earlier one, and the thread of that one.
struct Conflict {
  Stamp other;
  std::uint32_t other_at = 0;
  ConflictKind kind = ConflictKind::kNone;
};

// Whether the last recorded access was the same one, so that nothing changes.
inline bool is_repeated(const AccessRecord& record, AccessKind kind, Stamp now) {
  return kind == AccessKind::kRead    ? record.latest == now
         : kind == AccessKind::kWrite ? record.write == now && record.latest.epoch() == 0
                                      : false;
}

// Records an access by the running thread and returns what is wrong with it. All O(1).
template <Scope kScope>
class AccessRecorder {
 public:
  // Memory that is read must have been written in epoch `written_from` or later.
  AccessRecorder(AccessOrder& order, std::uint32_t written_from, std::uint32_t at)
      : order_(order), now_(order.now()), written_from_(written_from), at_(at) {}

  Conflict note(AccessRecord& record, AccessKind kind) {
    if (kind == AccessKind::kRead) return note_read(record);
    if (kind == AccessKind::kWrite) return note_write(record, now_);
    return kind == AccessKind::kAtomicRead ? note_atomic_read(record) : note_atomic(record);
  }

  // A fast path for the usual case of note_read: other lanes of the warp have read the same at the
  // same time, and nothing is wrong. In all other cases it does nothing and returns false.
  bool joins_lanes(AccessRecord& record) {
    const Stamp latest = record.latest;
    const Stamp write = record.write;
    if (!latest.is_beside(now_) || record.others > Others::kLanes || latest == now_) return false;
    if (write.is_pending() || write.epoch() < written_from_ || !precedes(write)) return false;
    if (record.others == Others::kNone) record.other = std::uint32_t{1} << latest.lane();
    record.other |= std::uint32_t{1} << now_.lane();
    record.others = Others::kLanes;
    record.latest = now_;
    record.latest_at = at_;
    return true;
  }

  Conflict note_read(AccessRecord& record) {
    if (is_repeated(record, AccessKind::kRead, now_)) return {};
    Conflict conflict = read_conflict(record);
    if (conflict.kind == ConflictKind::kNone && !precedes(record.write)) {
      conflict = with_write(record, ConflictKind::kWithWrite);
    }
    add(record, now_);
    return conflict;
  }

  // `stamp` is now, possibly with a mark.
  Conflict note_write(AccessRecord& record, Stamp stamp) {
    const bool is_alone = record.latest.epoch() == 0;
    if (record.write == stamp && is_alone) return {};
    Conflict conflict;
    if (is_pending(record)) {
      conflict = with_write(record, ConflictKind::kPending);
    } else if (!precedes(record.write)) {
      conflict = with_write(record, ConflictKind::kWithWrite);
    } else if (!is_alone) {
      conflict = set_conflict(record);
    }
    set_write(record, stamp);
    return conflict;
  }

  // An asynchronous copy ended: it writes its bytes now.
  void finish_pending(AccessRecord& record) { set_write(record, now_); }
  // The same for a bulk copy: the write still belongs to the thread that requested it, which the
  // mbarrier orders before others, and not to the thread that happened to wait first.
  static void finish_bulk(AccessRecord& record) { record.write = record.write.as_finished(); }

 private:
  bool precedes(Stamp past) const { return order_.template precedes<kScope>(past); }

  // Copies without a wait may have left their marks.
  bool is_pending(const AccessRecord& record) const {
    return record.write.is_pending() &&
           record.write.epoch() >= order_.template first_epoch<kScope>();
  }

  static Conflict with_write(const AccessRecord& record, ConflictKind kind) {
    return {record.write, record.write_at, kind};
  }

  void set_write(AccessRecord& record, Stamp stamp) {
    record.write = stamp;
    record.write_at = at_;
    clear_set(record);
  }

  Conflict read_conflict(const AccessRecord& record) const {
    if (is_pending(record)) return with_write(record, ConflictKind::kPending);
    if (record.write.epoch() >= written_from_) return {};
    return with_write(record, ConflictKind::kUninitialised);
  }

  Conflict note_atomic_read(AccessRecord& record) {
    Conflict conflict = read_conflict(record);
    if (conflict.kind == ConflictKind::kNone && !record.write.is_atomic() &&
        !precedes(record.write)) {
      conflict = with_write(record, ConflictKind::kWithWrite);
    }
    // In a set of plain reads it would count as one of them, and atomic writes conflict with those.
    if (record.latest.is_atomic() || is_past(record)) add(record, now_.as_atomic());
    return conflict;
  }

  Conflict note_atomic(AccessRecord& record) {
    Conflict conflict = note_atomic_read(record);
    if (conflict.kind == ConflictKind::kNone && !record.latest.is_atomic()) {
      conflict = set_conflict(record);
    }
    // With fences, the thread of the last atomic operation may be ordered after all others, and may
    // reset their counter.
    if (!record.latest.is_atomic() || order_.has_fences()) {
      clear_set(record);
      add(record, now_.as_atomic());
    }
    record.write = now_.as_atomic();
    record.write_at = at_;
    return conflict;
  }

  // Whether the whole set comes before now.
  bool is_past(const AccessRecord& record) const {
    return set_conflict(record).kind == ConflictKind::kNone;
  }

  // A member of the set that does not come before now.
  Conflict set_conflict(const AccessRecord& record) const {
    const Stamp latest = record.latest;
    if (!precedes(latest)) return {latest, record.latest_at, ConflictKind::kWithRead};
    if (record.others == Others::kNone) return {};
    const Stamp other = unordered_other(record);
    if (other == Stamp()) return {};
    return {other, record.latest_at, ConflictKind::kWithRead};
  }

  Stamp unordered_other(const AccessRecord& record) const {
    if (record.others == Others::kNone) return {};
    if (record.others <= Others::kClocks) return unordered_lane(record);
    // The record does not keep the clock of another block's thread. The least clock is assumed, so
    // that no ordered access is reported.
    const Stamp other = record.others == Others::kWarp
                            ? Stamp(record.latest.epoch(), record.other_thread, record.other)
                            : Stamp(record.other, record.other_thread, 1);
    return precedes(other) ? Stamp() : other;
  }

  Stamp unordered_lane(const AccessRecord& record) const {
    const Stamp latest = record.latest;
    // Lanes are unordered only until the next block barrier.
    if (latest.epoch() != now_.epoch()) return {};
    for (unsigned lane = 0; lane < kWarpSize; ++lane) {
      const std::uint32_t clock = clock_of(record, lane);
      const Stamp other(latest.epoch(), latest.warp() * kWarpSize + lane, clock);
      if (clock != 0 && !precedes(other)) return other;
    }
    return {};
  }

  // The clock of a lane of the latest member's warp; 0 if the lane is not in the set.
  std::uint32_t clock_of(const AccessRecord& record, unsigned lane) const {
    if (record.others == Others::kClocks) return order_.clocks(record.other)[lane];
    if (record.latest.lane() == lane) return record.latest.clock();
    const bool is_in = record.others == Others::kLanes && (record.other >> lane & 1) != 0;
    return is_in ? record.latest.clock() : 0;
  }

  static void clear_set(AccessRecord& record) {
    record.latest = Stamp();
    record.others = Others::kNone;
  }

  // Adds `stamp`, which is now, possibly with a mark, to the set.
  void add(AccessRecord& record, Stamp stamp) {
    const Stamp latest = record.latest;
    if (latest.is_atomic() != stamp.is_atomic()) {
      record.others = Others::kNone;
    } else if (latest.epoch() != now_.epoch()) {
      add_in_new_epoch(record);
    } else if (latest.warp() != now_.warp()) {
      add_other_warp(record);
    } else if (record.others <= Others::kClocks) {
      add_lane(record);
    }
    record.latest = stamp;
    record.latest_at = at_;
  }

  void add_in_new_epoch(AccessRecord& record) {
    if constexpr (kScope == Scope::kGrid) {
      const Stamp latest = record.latest;
      if (latest.epoch() != 0 && !precedes(latest)) {
        record.others = Others::kBlock;
        record.other = latest.epoch();
        record.other_thread = static_cast<std::uint16_t>(latest.thread());
        return;
      }
      if (record.others == Others::kBlock && unordered_other(record) != Stamp()) return;
    }
    record.others = Others::kNone;
  }

  void add_other_warp(AccessRecord& record) {
    // A member of another block conflicts with even more.
    if (record.others == Others::kBlock && unordered_other(record) != Stamp()) return;
    const Conflict unordered = set_conflict(record);
    if (unordered.kind == ConflictKind::kNone) {
      record.others = Others::kNone;
      return;
    }
    record.others = Others::kWarp;
    record.other = unordered.other.clock();
    record.other_thread = static_cast<std::uint16_t>(unordered.other.thread());
  }

  // Adds a lane of the latest member's warp.
  void add_lane(AccessRecord& record) {
    const Stamp latest = record.latest;
    if (record.others == Others::kNone && latest.lane() == now_.lane()) return;
    const std::uint32_t lane = std::uint32_t{1} << now_.lane();
    if (record.others != Others::kClocks && latest.clock() == now_.clock()) {
      if (record.others == Others::kNone) record.other = std::uint32_t{1} << latest.lane();
      record.other |= lane;
      record.others = Others::kLanes;
      return;
    }
    if (set_conflict(record).kind == ConflictKind::kNone) {
      record.others = Others::kNone;
      return;
    }
    AccessOrder::LaneClocks clocks;
    for (unsigned i = 0; i < kWarpSize; ++i) clocks[i] = clock_of(record, i);
    clocks[now_.lane()] = now_.clock();
    record.other = order_.add_clocks(clocks);
    record.others = Others::kClocks;
  }

  AccessOrder& order_;
  const Stamp now_;
  const std::uint32_t written_from_;
  const std::uint32_t at_;
};

}  // namespace recto::simt

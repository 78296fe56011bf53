#pragma once

// The sequences of a manager: which are alive, their states and lengths, and a log of changes to
// their tables. Holdings has their blocks.

#include <bit>
#include <cstdint>
#include <span>

#include "core/status.h"
#include "core/units.h"
#include "cuda/cache/block_manager.h"
#include "cuda/cache/fixed_array.h"
#include "cuda/cache/handle.h"

namespace recto::cache {

// A sequence's tokens and blocks in one pool.
struct TableRow {
  std::int64_t length = 0;  // leading tokens whose K and V are there
  std::int32_t blocks = 0;  // blocks of its table, in each group
};

enum class SequenceLife : std::uint8_t {
  kNone,  // the place is free
  kAlive,
  kReleased,  // its handle is invalid, but its blocks are still being swapped
};

// Which of a sequence's blocks the prefix index knows.
struct Chain {
  std::int32_t published = 0;  // leading blocks whose nodes are known
  NodeId end = kRoot;          // the node of the last of these; the sequence is its user
  std::int32_t committed = 0;  // full blocks at the last commit
};

// One cache line: appending a token touches nothing else.
struct Sequence {
  TableRow device;
  TableRow host;
  // Up to this context length, appends change only the length: the slots exist, are not shared, and
  // tokens become visible, or leave a window, one by one.
  std::int64_t run_end;
  Chain chain;
  std::uint32_t generation;  // from 1 on
  std::uint32_t mark;        // of the last operation that visited it, to find duplicates
  std::int16_t level;        // CacheGeometry::level of the length, while a run lasts
  SequenceState state;
  SequenceLife life;

  // The number of computed tokens, on the device or on the host.
  std::int64_t context() const { return device.length + host.length; }
};

// The rarely used part of a sequence.
struct SequenceDetails {
  CacheKeys keys;
  PrefixCaching publishing;       // off after a reset: its K and V may belong to old weights
  std::int32_t next_in_transfer;  // sequence index, or -1
};

// Changed entries [first, first + count) of a sequence's tables, in all groups. Those past the
// sequence's last block no longer exist.
struct TableChange {
  std::int32_t sequence = 0;  // index
  std::int32_t first = 0;
  std::int32_t count = 0;
};

// A log of changes to the device's block tables, in order, for the batch tables that follow them.
// It is bounded: a reader that falls behind by more than the capacity must reread everything.
class ChangeLog {
 public:
  Status allocate(std::int32_t max_sequences) {
    const auto capacity = std::bit_ceil(std::uint64_t{kChangesPerSequence} *
                                        static_cast<std::uint64_t>(max_sequences));
    return changes_.allocate(static_cast<std::int64_t>(capacity), "changes of block tables");
  }

  void add(std::int32_t sequence, std::int64_t first, std::int64_t end) {
    if (end <= first) return;
    changes_[place(total_++)] = {.sequence = sequence,
                                 .first = static_cast<std::int32_t>(first),
                                 .count = static_cast<std::int32_t>(end - first)};
  }

  // The number of changes so far; those numbered [total - capacity, total) can be read.
  std::int64_t total() const { return total_; }
  std::int64_t capacity() const { return changes_.ssize(); }
  std::int64_t bytes() const { return changes_.bytes(); }
  const TableChange& change(std::int64_t number) const { return changes_[place(number)]; }

 private:
  static constexpr std::uint64_t kChangesPerSequence = 4;

  std::int64_t place(std::int64_t number) const { return number & (changes_.ssize() - 1); }

  FixedArray<TableChange> changes_;
  std::int64_t total_ = 0;
};

class SequenceTable {
 public:
  static Result<SequenceTable> create(std::int32_t max_sequences);
  SequenceTable() = default;

  // The index of a live sequence; otherwise invalid input that says what is wrong with the handle.
  Result<std::int32_t> find(SequenceHandle handle) const;
  // The same, for a running sequence, or for one in the expected state.
  Result<std::int32_t> find_running(SequenceHandle handle) const;
  Result<std::int32_t> find_in(SequenceHandle handle, SequenceState expected) const;
  bool is_alive(SequenceHandle handle) const;

  // Opens a running sequence that holds nothing. Precondition: there is a free place.
  std::int32_t open();
  // Invalidates the handle; the place is kept until `close`.
  void retire(std::int32_t index);
  // Frees the place of a retired sequence.
  void close(std::int32_t index);

  // A mark that no sequence has yet.
  std::uint32_t next_mark();

  Sequence& operator[](std::int32_t index) { return sequences_[index]; }
  const Sequence& operator[](std::int32_t index) const { return sequences_[index]; }
  std::span<Sequence> all() { return sequences_.all(); }
  SequenceDetails& details(std::int32_t index) { return details_[index]; }
  const SequenceDetails& details(std::int32_t index) const { return details_[index]; }
  SequenceHandle handle(std::int32_t index) const {
    return {.index = index, .generation = sequences_[index].generation};
  }

  std::int32_t size() const { return static_cast<std::int32_t>(sequences_.ssize()); }
  std::int64_t bytes() const {
    return sequences_.bytes() + details_.bytes() + free_.bytes() + log_.bytes();
  }
  std::int32_t num_free() const { return num_free_; }
  // Places from this index on have never been used.
  std::int32_t used_end() const { return used_end_; }
  std::span<const std::int32_t> free_places() const { return free_.first(num_free_); }

  // The changes of the sequences' tables on the device.
  ChangeLog& log() { return log_; }
  const ChangeLog& log() const { return log_; }

 private:
  FixedArray<Sequence> sequences_;
  FixedArray<SequenceDetails> details_;
  FixedArray<std::int32_t> free_;  // a stack
  std::int32_t num_free_ = 0;
  std::int32_t used_end_ = 0;
  std::uint32_t mark_ = 0;
  ChangeLog log_;
};

static_assert(sizeof(Sequence) <= 64);

}  // namespace recto::cache

#pragma once

// A log of changes to entries of the device's block tables, in order, for the tables of batches
// that follow them. Bounded: a reader that falls behind by more than the capacity has to read
// everything.

#include <bit>
#include <cstdint>
#include <utility>

#include "core/status.h"
#include "cuda/cache/fixed_array.h"

namespace recto::cache {

// Entries [first, first + count) of a sequence's tables, in all groups. Those past the sequence's
// blocks are no longer entries.
struct TableChange {
  std::int32_t sequence = 0;  // index
  std::int32_t first = 0;
  std::int32_t count = 0;
};

class ChangeLog {
 public:
  static Result<ChangeLog> create(std::int32_t max_sequences) {
    const auto capacity = std::bit_ceil(std::uint64_t{kChangesPerSequence} *
                                        static_cast<std::uint64_t>(max_sequences));
    auto changes = FixedArray<TableChange>::create(static_cast<std::int64_t>(capacity),
                                                   "changes of block tables");
    if (!changes.is_ok()) return changes.status();
    ChangeLog log;
    log.changes_ = std::move(changes).value();
    return log;
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

}  // namespace recto::cache

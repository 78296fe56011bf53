#pragma once

// The sequences of a manager: which are alive, in which state, and how long. Holdings knows where
// their blocks are.

#include <cstdint>
#include <span>

#include "core/status.h"
#include "core/units.h"
#include "cuda/cache/block_manager.h"
#include "cuda/cache/cache_ids.h"
#include "cuda/cache/fixed_array.h"

namespace recto::cache {

// What a sequence has in one pool.
struct TableRow {
  std::int64_t length = 0;  // leading tokens whose K and V are there
  std::int32_t blocks = 0;  // of its table, in each group
};

enum class SequenceLife : std::uint8_t {
  kNone,  // the place is free
  kAlive,
  kReleased,  // its handle is invalid, but its blocks are still being swapped
};

// One cache line: appending a token touches nothing else.
struct Sequence {
  TableRow device;
  TableRow host;
  // Appends up to this context length change nothing but the length: the slots are there, nobody
  // else sees them, and tokens become visible, or fall out of a window, only one by one.
  std::int64_t run_end;
  std::int32_t published;    // leading blocks whose chain in the prefix index is known
  NodeId chain;              // the node of the last of these; the sequence is its user
  std::int32_t committed;    // full blocks at the last commit
  std::uint32_t generation;  // from 1 on
  std::uint32_t mark;        // of the last operation that met it, to find duplicates
  std::int16_t level;        // CacheGeometry::level of the length, while a run lasts
  SequenceState state;
  SequenceLife life;

  // The tokens that are computed, on the device or on the host.
  std::int64_t context() const { return device.length + host.length; }
};

// The rarely needed part of a sequence.
struct SequenceDetails {
  CacheKeys keys;
  PrefixCaching publishing;       // off after a reset: its K and V may be of other weights
  std::int32_t next_in_transfer;  // sequence index, or -1
};

class SequenceTable {
 public:
  static Result<SequenceTable> create(std::int32_t max_sequences);
  SequenceTable() = default;

  // The index of a live sequence; otherwise invalid input that says what is wrong with the handle.
  Result<std::int32_t> find(SequenceHandle handle) const;
  // The same, for a running sequence.
  Result<std::int32_t> find_running(SequenceHandle handle) const;
  bool is_alive(SequenceHandle handle) const;

  // Opens a running sequence that holds nothing. There must be a free place.
  std::int32_t open();
  // Invalidates the handle; the place is kept until `close`.
  void retire(std::int32_t index);
  // Frees the place of a retired sequence.
  void close(std::int32_t index);

  // A mark that no sequence has.
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
  std::int64_t bytes() const { return sequences_.bytes() + details_.bytes() + free_.bytes(); }
  std::int32_t num_free() const { return num_free_; }
  // Places from this index on were never used.
  std::int32_t used_end() const { return used_end_; }
  const std::int32_t* free_places() const { return &free_[0]; }  // [num_free]

 private:
  FixedArray<Sequence> sequences_;
  FixedArray<SequenceDetails> details_;
  FixedArray<std::int32_t> free_;  // a stack
  std::int32_t num_free_ = 0;
  std::int32_t used_end_ = 0;
  std::uint32_t mark_ = 0;
};

static_assert(sizeof(Sequence) <= 64);

}  // namespace recto::cache

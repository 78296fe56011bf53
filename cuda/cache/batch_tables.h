#pragma once

// Block tables as kernels read them: a flat buffer [num_groups, max_rows, max_blocks] that the
// caller owns, such as pinned memory, and that is kept up to date by writing only what changed.
//
//   std::vector<std::int32_t> buffer(1 * 2 * 4);  // [num_groups, max_rows, max_blocks]
//   BatchTables tables = BatchTables::create(manager, {.max_rows = 2}, buffer).value();
//   status = tables.assign(1, sequence);
//   for (const TableRange& range : tables.update()) upload(range);  // elements of the buffer
//
// Entries without a block are padding: rows without a sequence, columns past a sequence's blocks,
// blocks that a window gave back. The manager must outlive its tables.

#include <cstdint>
#include <optional>
#include <span>

#include "core/paged_kv_view.h"
#include "core/status.h"
#include "cuda/cache/block_manager.h"
#include "cuda/cache/fixed_array.h"
#include "cuda/cache/sequence_table.h"

namespace recto::cache {

// How many rows a sequence may have: several, if each query of a sequence has its own row, as when
// draft tokens are verified.
enum class RowsOfSequence : std::uint8_t { kOne, kSeveral };

struct BatchTableOptions {
  std::int32_t max_rows = 0;   // rows of a batch, padding included
  BlockId padding = kNoBlock;  // entry without a block: -1, or a null block
  RowsOfSequence rows_of_sequence = RowsOfSequence::kOne;
};

// Elements [first, first + count) of the buffer.
struct TableRange {
  std::int64_t first = 0;
  std::int64_t count = 0;
};

class BatchTables {
 public:
  // Fills the buffer with padding. Invalid input unless the buffer has num_groups * max_rows *
  // max_blocks_per_sequence elements and the padding is kNoBlock or a null block of the pool.
  static Result<BatchTables> create(const BlockManager& manager, const BatchTableOptions& options,
                                    std::span<std::int32_t> buffer);

  // Assigns the row to this sequence from the next `update` on. Invalid input if the row belongs to
  // another sequence, or if the sequence already has its only row. O(rows of a sequence).
  Status assign(std::int32_t row, SequenceHandle sequence);
  // Frees the row; does nothing if it is already free. O(rows of its sequence).
  Status clear(std::int32_t row);

  // Writes the entries that changed since the last call, and returns their ranges, which may
  // overlap. Frees the rows of released sequences. O(changed entries * groups). Rewrites all rows
  // of a sequence that has several, and all rows in use if more has changed than the manager
  // remembers (ChangeLog::capacity). The result is valid until the next call.
  std::span<const TableRange> update();

  // The table of one group, in the buffer. Kernels that cannot read the buffer's memory get the
  // same view with `data` at the same place of its copy on the device. O(1).
  BlockTableView view(std::int32_t group) const;
  // Rows [first, first + count) of it. Precondition: these rows exist.
  BlockTableView view(std::int32_t group, std::int64_t first, std::int64_t count) const;
  // The row's sequence; none if the row is free or does not exist. O(1).
  std::optional<SequenceHandle> row(std::int32_t row) const;

 private:
  static constexpr std::int32_t kNone = -1;

  struct Row {
    SequenceHandle sequence;
    bool is_assigned;
    bool is_stale;         // must be rewritten as a whole
    std::int32_t written;  // columns that may differ from padding
    std::int32_t next;     // another row of the same sequence; kNone
  };

  explicit BatchTables(const CacheCore& core) : core_(&core) {}
  Status make(const BatchTableOptions& options, std::span<std::int32_t> buffer);

  Status check_row(std::int32_t row) const;
  bool is_in_use(std::int32_t row) const;
  void unassign(std::int32_t row);
  void mark_stale(std::int32_t row);
  void follow(const TableChange& change);
  void rewrite(std::int32_t row);
  void write(std::int32_t row, std::int64_t first, std::int64_t end);

  const CacheCore* core_;
  BlockId padding_ = kNoBlock;
  RowsOfSequence rows_of_sequence_ = RowsOfSequence::kOne;
  std::span<std::int32_t> buffer_;   // [num_groups, max_rows, max_blocks]
  FixedArray<Row> rows_;             // [max_rows]
  FixedArray<std::int32_t> row_of_;  // by sequence index: its latest row; kNone
  FixedArray<std::int32_t> stale_;   // rows
  FixedArray<TableRange> ranges_;
  std::int64_t num_stale_ = 0;
  std::int64_t num_ranges_ = 0;
  std::int64_t seen_ = 0;  // changes read from the manager's log
};

}  // namespace recto::cache

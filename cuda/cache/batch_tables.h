#pragma once

// Block tables as kernels read them: one flat buffer [num_groups, max_rows, max_blocks] of a
// caller, such as pinned memory, that is kept up to date by writing what changed; and slot
// mappings.
//
//   std::vector<std::int32_t> buffer(1 * 2 * 4);  // [num_groups, max_rows, max_blocks]
//   BatchTables tables =
//       BatchTables::create(manager, {.max_rows = 2, .padding = BlockId(0)}, buffer).value();
//   tables.assign(1, sequence);
//   for (const TableRange& range : tables.update()) upload(range);  // elements of the buffer
//   std::vector<std::int64_t> slots(2);  // one token, and one of padding
//   const std::vector<TokenRange> step = {{.sequence = sequence, .first = 5, .count = 1}};
//   write_slot_mapping(manager, 0, step, slots);  // {slot of token 5, -1}
//
// Whatever has no block is padding: rows without a sequence, columns behind its blocks, blocks that
// a window gave back. The manager outlives its tables and keeps its address while they are in use.

#include <cstdint>
#include <optional>
#include <span>

#include "core/paged_kv_view.h"
#include "core/status.h"
#include "cuda/cache/block_manager.h"
#include "cuda/cache/fixed_array.h"

namespace recto::cache {

// A slot mapping's entry that writes nothing.
inline constexpr std::int64_t kNoSlot = -1;

struct BatchTableOptions {
  std::int32_t max_rows = 0;   // sequences of a batch, padding included
  BlockId padding = kNoBlock;  // what stands where there is no block: -1, or a null block
};

// Elements [first, first + count) of the buffer.
struct TableRange {
  std::int64_t first = 0;
  std::int64_t count = 0;
};

class BatchTables {
 public:
  // Fills the buffer with padding. Invalid input unless the buffer has num_groups * max_rows *
  // max_blocks_per_sequence elements and padding is none, or a null block of the pool.
  static Result<BatchTables> create(const BlockManager& manager, const BatchTableOptions& options,
                                    std::span<std::int32_t> buffer);

  // The row is this sequence's, from the next `update` on. Invalid input if it is another's, or the
  // sequence has another row. O(1).
  Status assign(std::int32_t row, SequenceHandle sequence);
  // The row is nobody's; nothing to do if it was nobody's. O(1).
  Status clear(std::int32_t row);

  // Writes what changed since the last time, and returns where. Rows of sequences that were
  // released become nobody's. O(changed entries * groups); everything, if more changed than the
  // manager remembers (ChangeLog::capacity). The ranges are apart, and valid until the next call.
  std::span<const TableRange> update();

  // What kernels take. Rows behind the last one in use may be left out by the caller.
  BlockTableView view(std::int32_t group) const;
  std::optional<SequenceHandle> row(std::int32_t row) const;

 private:
  struct Row {
    SequenceHandle sequence;
    bool is_assigned;
    bool is_stale;            // to be written as a whole
    std::int32_t num_blocks;  // columns that may differ from padding
  };

  BatchTables(const BlockManager& manager, const BatchTableOptions& options,
              std::span<std::int32_t> buffer);

  const BlockManager* manager_;
  BatchTableOptions options_;
  std::span<std::int32_t> buffer_;  // [num_groups, max_rows, max_blocks]
};

// Tokens [first, first + count) of a sequence, to be written in this step.
struct TokenRange {
  SequenceHandle sequence = {};
  std::int64_t first = 0;
  std::int64_t count = 0;
};

// The slots of these tokens in a group, block_id * block_size + offset, one after the other;
// kNoSlot in what of `slots` is left. Invalid input, and nothing written, if a token has no slot or
// `slots` is too short. O(tokens).
Status write_slot_mapping(const BlockManager& manager, std::int32_t group,
                          std::span<const TokenRange> tokens, std::span<std::int64_t> slots);

}  // namespace recto::cache

#pragma once

// The parts of a block manager, and the few steps that touch several of them. The operations on
// them have files of their own: admission, growth, publication, branching, giving_back, swapping,
// pinning.

#include <cstdint>
#include <memory>

#include "core/status.h"
#include "cuda/cache/block_manager.h"
#include "cuda/cache/cache_events.h"
#include "cuda/cache/cache_geometry.h"
#include "cuda/cache/change_log.h"
#include "cuda/cache/fixed_array.h"
#include "cuda/cache/holdings.h"
#include "cuda/cache/prefix_index.h"
#include "cuda/cache/sequence_table.h"
#include "cuda/cache/slot_table.h"

namespace recto::cache {

enum class SwapDirection : std::uint8_t { kOut, kIn };

struct TransferRecord {
  SwapDirection direction = SwapDirection::kOut;
  std::int32_t first_sequence = -1;  // the others by SequenceDetails::next_in_transfer
};

struct PinRecord {
  NodeId end = kRoot;  // the last node that is pinned; its ancestors are pinned, too
};

// A sequence that wants slots for tokens up to `length`.
struct GrowthRequest {
  std::int32_t sequence = 0;
  std::int64_t length = 0;
};

// Scratch memory in which operations work, and return results.
struct CacheScratch {
  FixedArray<BlockCopy> copies;           // [max_sequences * num_groups]
  FixedArray<SwapCopy> swaps;             // [host_blocks + max_sequences * num_groups]
  FixedArray<GrowthRequest> requests;     // [max_sequences]
  FixedArray<SequenceHandle> beams;       // [2, max_sequences]
  FixedArray<std::int32_t> child_counts;  // [max_sequences]

  std::int64_t sequence_bytes() const {
    return copies.bytes() + requests.bytes() + beams.bytes() + child_counts.bytes();
  }
};

struct CacheCore {
  // What CacheCore::create makes.
  struct Parts {
    SequenceTable sequences = {};
    BlockPool device_pool = {};
    BlockTables device_tables = {};
    BlockPool host_pool = {};
    BlockTables host_tables = {};
    PrefixIndex index = {};
    ChangeLog log = {};
    SlotTable<TransferRecord, TransferHandle> transfers = {};
    SlotTable<PinRecord, PinHandle> pins = {};
    CacheScratch scratch = {};
  };

  static Result<std::unique_ptr<CacheCore>> create(const CacheOptions& options);
  CacheCore(const CacheOptions& cache_options, const CacheGeometry& cache_geometry, Parts parts);
  CacheCore(const CacheCore&) = delete;
  CacheCore& operator=(const CacheCore&) = delete;

  // Takes a new block of the device; content that is evicted for it can no longer be found.
  BlockId take(const TablePlace& place);
  // Takes new blocks in all groups, after those that the sequence has, up to `blocks` logical
  // blocks.
  void take_until(std::int32_t sequence, std::int64_t blocks);
  // Makes the block's content unfindable, as its only holder is about to write to it.
  void forget(BlockId block);
  // Frees the least recently used evictable block; there must be one.
  void evict_oldest();
  // Makes appends to this sequence check everything again.
  void stop_run(std::int32_t sequence) {
    sequences[sequence].run_end = sequences[sequence].device.length;
  }
  // Recomputes how far appends need not check (Sequence::run_end). O(groups).
  void refresh_run(std::int32_t sequence);
  // Cuts the sequence's chain in the prefix index to its first `blocks` blocks, if it is longer.
  // O(blocks cut off).
  void cut_chain(std::int32_t sequence, std::int64_t blocks);

  // The block that has a node's tokens for a group, or kNoBlock.
  BlockId block_with(NodeId node, std::int32_t group) const {
    return device.pool().block_with(index.content_id(node, group));
  }
  bool is_caching() const { return index.max_nodes() > 0; }

  CacheOptions options;
  CacheGeometry geometry;
  SequenceTable sequences;
  Holdings device;
  Holdings host;
  PrefixIndex index;
  ChangeLog log;
  SlotTable<TransferRecord, TransferHandle> transfers;
  SlotTable<PinRecord, PinHandle> pins;
  CacheStatistics statistics;
  CacheScratch scratch;

 private:
  void unpublish(ContentId content, BlockId block);
};

}  // namespace recto::cache

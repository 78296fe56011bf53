#pragma once

// The parts of a block manager, and the few steps that touch several of them. What operations do
// with them is in files of their own: admission, growth, publication, branching, giving_back,
// swapping, pinning.

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
  NodeId end = kRoot;  // the last node that is pinned; all before it are, too
};

// A sequence that wants slots for tokens up to `length`.
struct GrowthRequest {
  std::int32_t sequence = 0;
  std::int64_t length = 0;
};

// Memory that operations work and answer in.
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
  // As CacheCore::create has them made.
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

  // A new block of the device; what is evicted for it can't be found any more.
  BlockId take(const TablePlace& place);
  // New blocks in all groups for logical blocks up to `blocks`, behind those that it has.
  void take_until(std::int32_t sequence, std::int64_t blocks);
  // The block's only holder is to write into it: its content can't be found any more.
  void forget(BlockId block);
  // The least recently used of the evictable blocks, of which there is one, is free.
  void evict_oldest();
  // Appends to this sequence look at everything again.
  void stop_run(std::int32_t sequence) {
    sequences[sequence].run_end = sequences[sequence].device.length;
  }
  // How far they need not, from now on (Sequence::run_end). O(groups).
  void refresh_run(std::int32_t sequence);
  // The sequence's chain in the prefix index ends with its first `blocks` blocks, at the latest.
  // O(blocks by which it is cut).
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

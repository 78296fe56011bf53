#pragma once

// The host pool, to which sequences are swapped out. Swaps take two steps: blocks on both sides are
// held until the copies between them are made.

#include <cstdint>
#include <span>

#include "core/status.h"
#include "cuda/cache/block_manager.h"
#include "cuda/cache/cache_geometry.h"
#include "cuda/cache/fixed_array.h"
#include "cuda/cache/holdings.h"
#include "cuda/cache/prefix_cache.h"
#include "cuda/cache/sequence_table.h"
#include "cuda/cache/slot_table.h"

namespace recto::cache {

enum class SwapDirection : std::uint8_t { kOut, kIn };

struct TransferRecord {
  SwapDirection direction = SwapDirection::kOut;
  std::int32_t first_sequence = -1;  // the others follow by SequenceDetails::next_in_transfer
};

class SwapSpace {
 public:
  // All must outlive it.
  SwapSpace(const CacheOptions& options, const CacheGeometry& geometry, SequenceTable& sequences,
            Holdings& device, PrefixCache& prefix)
      : options_(options),
        geometry_(geometry),
        sequences_(sequences),
        device_(device),
        prefix_(prefix),
        host_(geometry, sequences, &Sequence::host) {}
  Status allocate();

  // As BlockManager's members. With m sequences in a call, a block that several of them share costs
  // O(m).
  Result<Transfer> swap_out(std::span<const SequenceHandle> sequences);
  bool can_swap_out(std::span<const SequenceHandle> sequences) const {
    return check_out(sequences).is_ok();
  }
  Result<Transfer> swap_in(std::span<const SequenceHandle> sequences, TokenCount lookahead);
  bool can_swap_in(std::span<const SequenceHandle> sequences, TokenCount lookahead) const {
    return check_in(sequences, lookahead).is_ok();
  }
  Status complete(TransferHandle transfer);

  // Gives back all blocks that a sequence holds on the host. O(blocks * groups).
  void give_back(std::int32_t sequence);

  const Holdings& host() const { return host_; }
  const SlotTable<TransferRecord, TransferHandle>& transfers() const { return transfers_; }
  std::int64_t copy_bytes() const { return copies_.bytes(); }

 private:
  class Set;

  Status check_members(std::span<const SequenceHandle> sequences, SequenceState state) const;
  Status check_out(std::span<const SequenceHandle> sequences) const;
  Status check_in(std::span<const SequenceHandle> sequences, TokenCount lookahead) const;
  void trim(std::int32_t sequence);
  Transfer begin(const Set& set, SwapDirection direction);

  const CacheOptions& options_;
  const CacheGeometry& geometry_;
  SequenceTable& sequences_;
  Holdings& device_;
  PrefixCache& prefix_;
  Holdings host_;
  SlotTable<TransferRecord, TransferHandle> transfers_;
  FixedArray<SwapCopy> copies_;  // [host_blocks + max_sequences * num_groups], of the last result
};

}  // namespace recto::cache

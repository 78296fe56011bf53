#pragma once

// A stand-in for K and V, in which each slot holds a note of what was written there: the token, all
// tokens before it, and whatever else K and V depend on. The copies that a manager asks for are
// made here, so that a read through a block table shows whether it still leads to what the sequence
// wrote.

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "core/units.h"
#include "cuda/cache/block_manager.h"
#include "verify/models/cache_text.h"

namespace recto::verify {

// What a slot holds: equal tags mean equal K and V. 0 means that nothing was written.
using SlotTag = std::int64_t;

// Tags for texts. K and V of a token depend on it, on what is before it, on the keys, on the item
// that covers it, and on the weights, of which there may be one set after another.
class SlotTags {
 public:
  // The tag of token `position`, whose predecessor has the tag `before` (0 for the first token).
  SlotTag tag(SlotTag before, const CacheText& text, std::int64_t position, std::int64_t weights);
  // The tags of a whole text, one for each token.
  std::vector<SlotTag> tags(const CacheText& text, std::int64_t weights);

 private:
  struct Source {
    SlotTag before = 0;
    cache::TokenId token = 0;
    std::uint64_t item = 0;        // its content hash, or 0
    std::int64_t item_offset = 0;  // the token's, in the item
    std::uint64_t lora_id = 0;
    std::uint64_t tenant_salt = 0;
    std::int64_t weights = 0;

    friend auto operator<=>(const Source&, const Source&) = default;
  };

  std::map<Source, SlotTag> tags_;
};

class ShadowCache {
 public:
  explicit ShadowCache(const cache::CacheOptions& options);

  // Writes to the layers of a group; a block belongs to one group at a time.
  void write(std::int32_t group, BlockId block, std::int64_t offset, SlotTag tag);
  // Makes all copies at once, as kernels do. A broken contract if a destination occurs twice or is
  // also a source, or a block is not in the pool.
  void copy(std::span<const cache::BlockCopy> copies);
  // These copy whole blocks. A broken contract if a destination occurs twice.
  void copy_out(std::span<const cache::SwapCopy> copies);
  void copy_in(std::span<const cache::SwapCopy> copies);

  // What the group wrote there; 0 if the last to write was another group, or nobody.
  SlotTag read(std::int32_t group, BlockId block, std::int64_t offset) const;
  SlotTag read_host(std::int32_t group, BlockId block, std::int64_t offset) const;

 private:
  struct Slot {
    std::int32_t group = 0;
    SlotTag tag = 0;
  };

  std::size_t first_slot(const std::vector<Slot>& pool, BlockId block) const;

  std::int64_t block_size_;
  std::vector<Slot> device_;  // [num_blocks, block_size]
  std::vector<Slot> host_;    // [host_blocks, block_size]
};

}  // namespace recto::verify

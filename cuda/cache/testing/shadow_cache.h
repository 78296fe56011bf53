#pragma once

// A model of K and V: each slot holds a tag of what was written there. Makes the copies that a
// manager asks for, so that a read through a block table shows whether it leads to what the
// sequence wrote.

#include <cstdint>
#include <span>
#include <vector>

#include "core/units.h"
#include "cuda/cache/block_manager.h"
#include "cuda/cache/testing/cache_text.h"

namespace recto::cache::testing {

class ShadowCache {
 public:
  explicit ShadowCache(const CacheOptions& options);

  // Writes to the layers of a group; a block belongs to one group at a time.
  void write(std::int32_t group, BlockId block, std::int64_t offset, SlotTag tag);
  // Makes all copies at once, as kernels do. A broken contract if a destination occurs twice or is
  // also a source, or a block is not in the pool.
  void copy(std::span<const BlockCopy> copies);
  // These copy whole blocks. A broken contract if a destination occurs twice.
  void copy_out(std::span<const SwapCopy> copies);
  void copy_in(std::span<const SwapCopy> copies);

  // The tag that the group wrote there; 0 if another group wrote last, or nothing was written.
  SlotTag read(std::int32_t group, BlockId block, std::int64_t offset) const;
  SlotTag read_host(std::int32_t group, BlockId block, std::int64_t offset) const;

 private:
  struct Slot {
    std::int32_t group = 0;
    SlotTag tag = 0;
  };

  // The slots of a block, which the pool must have.
  template <typename Pool>
  auto slots(Pool& pool, BlockId block) const;

  std::int64_t block_size_;
  std::vector<Slot> device_;  // [num_blocks, block_size]
  std::vector<Slot> host_;    // [host_blocks, block_size]
};

}  // namespace recto::cache::testing

#pragma once

// The K and V of a cache as one tag per slot, moved as the manager's answers say: what is read
// through a block table must be what was written for that token, whatever happened in between.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/status.h"
#include "cuda/cache/block_manager.h"

namespace recto::cache::testing {

class ShadowCache {
 public:
  explicit ShadowCache(const CacheOptions& options);

  void copy(std::span<const BlockCopy> copies);
  void copy_out(std::span<const SwapCopy> copies);
  void copy_in(std::span<const SwapCopy> copies);

  // Tokens [first, first + tags.size()) of a sequence are computed.
  void write(const BlockManager& manager, SequenceHandle sequence, std::int64_t first,
             std::span<const std::uint64_t> tags);
  // What stands behind the context, in the sequence's lookahead, is overwritten.
  void scramble_lookahead(const BlockManager& manager, SequenceHandle sequence);

  // Failed unless the next row of each group sees these tags.
  Status check(const BlockManager& manager, SequenceHandle sequence,
               std::span<const std::uint64_t> tags) const;

 private:
  std::uint64_t& slot(BlockId block, std::int64_t offset) {
    return device_[static_cast<std::size_t>(block.value() * block_size_ + offset)];
  }

  std::int64_t block_size_;
  std::vector<std::uint64_t> device_;  // [num_blocks, block_size]: a block has one group at a time
  std::vector<std::uint64_t> host_;
  std::uint64_t garbage_ = 0x6761'7262'6167'6500U;
};

}  // namespace recto::cache::testing

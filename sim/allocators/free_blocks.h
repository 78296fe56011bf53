#pragma once

// The free blocks of a pool, as a stack: the blocks freed last are allocated first. The stack is at
// the end of an array and grows towards its start, so that taking and giving back are one
// contiguous copy each.

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "core/contract.h"
#include "core/units.h"

namespace recto::sim {

class FreeBlocks {
 public:
  // Contains blocks [first, end), lowest ids on top.
  FreeBlocks(std::int64_t first, std::int64_t end) {
    blocks_.reserve(static_cast<std::size_t>(end - first));
    for (std::int64_t id = first; id < end; ++id) {
      blocks_.push_back(BlockId(static_cast<std::int32_t>(id)));
    }
    top_ = blocks_.begin();
  }

  std::int64_t size() const { return blocks_.end() - top_; }

  // Moves the topmost `count` blocks to the end of `table`.
  void take(std::int64_t count, std::vector<BlockId>& table) {
    RECTO_CHECK_LE(count, size());
    const std::size_t held = table.size();
    table.resize(held + static_cast<std::size_t>(count));
    std::copy_n(top_, count, table.begin() + static_cast<std::ptrdiff_t>(held));
    top_ += count;
  }

  // Frees these blocks; the first of them is the next to be allocated.
  void give(std::span<const BlockId> blocks) {
    RECTO_CHECK_LE(static_cast<std::int64_t>(blocks.size()), top_ - blocks_.begin());
    top_ -= static_cast<std::ptrdiff_t>(blocks.size());
    std::copy(blocks.begin(), blocks.end(), top_);
  }

 private:
  std::vector<BlockId> blocks_;  // all blocks of the pool; the free ones begin at `top_`
  std::vector<BlockId>::iterator top_;
};

}  // namespace recto::sim

#pragma once

// Which block a token is in, and which tokens the rows of each layer group see: stateless
// arithmetic. Lengths are in tokens, positions in tables in blocks.

#include <cstdint>
#include <limits>
#include <vector>

#include "cuda/cache/cache_options.h"

namespace recto::cache {

// Tokens, or slots, [begin, end).
struct SlotRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  std::int64_t size() const { return end > begin ? end - begin : 0; }
  friend bool operator==(const SlotRange&, const SlotRange&) = default;
};

inline SlotRange intersection(const SlotRange& a, const SlotRange& b) {
  return {.begin = a.begin > b.begin ? a.begin : b.begin, .end = a.end < b.end ? a.end : b.end};
}

class CacheGeometry {
 public:
  explicit CacheGeometry(const CacheOptions& options);
  CacheGeometry() = default;

  std::int64_t block_size() const { return block_size_; }
  std::int32_t num_groups() const { return num_groups_; }
  std::int64_t max_blocks() const { return max_blocks_; }
  std::int64_t max_tokens() const { return max_blocks_ * block_size_; }

  // The number of blocks that this many tokens fill (full_blocks), and that they touch
  // (blocks_for).
  std::int64_t full_blocks(std::int64_t tokens) const {
    return shift_ >= 0 ? tokens >> shift_ : tokens / block_size_;
  }
  std::int64_t blocks_for(std::int64_t tokens) const {
    return full_blocks(tokens + block_size_ - 1);
  }
  bool is_aligned(std::int64_t tokens) const { return full_blocks(tokens) * block_size_ == tokens; }
  SlotRange slots_of(std::int64_t block) const {
    return {.begin = block * block_size_, .end = (block + 1) * block_size_};
  }

  // The tokens of a context of `length` that the next row of a group, at position `length`, sees.
  SlotRange visible(std::int32_t group, std::int64_t length) const {
    const std::int64_t window = windows_[static_cast<std::size_t>(group)];
    return {.begin = length >= window ? length - window + 1 : 0, .end = length};
  }
  // The visible tokens that are in one block.
  SlotRange visible_in(std::int32_t group, std::int64_t length, std::int64_t block) const {
    return intersection(slots_of(block), visible(group, length));
  }
  // The first block that any row at position `length` or later sees or writes.
  std::int64_t first_needed(std::int32_t group, std::int64_t length) const {
    return full_blocks(visible(group, length).begin);
  }

  bool has_window(std::int32_t group) const {
    return windows_[static_cast<std::size_t>(group)] != kNoWindow;
  }
  // Groups with a window; the number of levels, which is one more than that of distinct windows.
  const std::vector<std::int32_t>& window_groups() const { return window_groups_; }
  std::int32_t num_levels() const { return static_cast<std::int32_t>(distinct_.size()) + 1; }
  // How many of the distinct windows a context of this length fills: in these, each further token
  // displaces an older one.
  std::int32_t level(std::int64_t length) const {
    std::int32_t level = 0;
    while (level < num_levels() - 1 && length >= level_begin(level + 1)) ++level;
    return level;
  }
  // The shortest length of a level, which must be at least 1.
  std::int64_t level_begin(std::int32_t level) const {
    return distinct_[static_cast<std::size_t>(level - 1)] - 1;
  }
  // The last level at which one more token adds one used slot to the group.
  std::int32_t last_growing_level(std::int32_t group) const {
    return last_growing_level_[static_cast<std::size_t>(group)];
  }

 private:
  static constexpr std::int64_t kNoWindow = std::numeric_limits<std::int64_t>::max();

  std::int64_t block_size_ = 1;
  int shift_ = 0;  // log2 of the block size if that is a power of two; else -1
  std::int32_t num_groups_ = 1;
  std::int64_t max_blocks_ = 0;
  std::vector<std::int64_t> windows_;  // by group
  std::vector<std::int32_t> window_groups_;
  std::vector<std::int64_t> distinct_;
  std::vector<std::int32_t> last_growing_level_;  // by group
};

}  // namespace recto::cache

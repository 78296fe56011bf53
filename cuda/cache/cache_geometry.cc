#include "cuda/cache/cache_geometry.h"

#include <algorithm>
#include <bit>

namespace recto::cache {

CacheGeometry::CacheGeometry(const CacheOptions& options)
    : block_size_(options.block_size.value()),
      num_groups_(static_cast<std::int32_t>(options.groups.size())),
      max_blocks_(options.max_blocks_per_sequence.value()) {
  const auto bits = static_cast<std::uint64_t>(block_size_);
  shift_ = std::has_single_bit(bits) ? std::countr_zero(bits) : -1;
  for (std::int32_t group = 0; group < num_groups_; ++group) {
    const auto& window = options.groups[static_cast<std::size_t>(group)].window;
    // A window longer than any context is equivalent to none.
    const bool is_seen_whole = !window || window->value() > max_tokens();
    windows_.push_back(is_seen_whole ? kNoWindow : window->value());
    if (is_seen_whole) continue;
    window_groups_.push_back(group);
    distinct_.push_back(window->value());
  }
  std::sort(distinct_.begin(), distinct_.end());
  distinct_.erase(std::unique(distinct_.begin(), distinct_.end()), distinct_.end());
  for (const std::int64_t window : windows_) {
    const auto place = std::lower_bound(distinct_.begin(), distinct_.end(), window);
    last_growing_level_.push_back(static_cast<std::int32_t>(place - distinct_.begin()));
  }
}

}  // namespace recto::cache

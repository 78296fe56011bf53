#include "cuda/cache/testing/shadow_cache.h"

#include <algorithm>
#include <set>

#include "core/contract.h"

namespace recto::cache::testing {

ShadowCache::ShadowCache(const CacheOptions& options)
    : block_size_(options.block_size.value()),
      device_(static_cast<std::size_t>(options.num_blocks.value() * block_size_)),
      host_(static_cast<std::size_t>(options.host_blocks.value() * block_size_)) {}

template <typename Pool>
auto ShadowCache::slots(Pool& pool, BlockId block) const {
  RECTO_CHECK_GE(block.value(), 0);
  RECTO_CHECK_LT(block.value() * block_size_, std::ssize(pool));
  return std::span(pool).subspan(static_cast<std::size_t>(block.value() * block_size_),
                                 static_cast<std::size_t>(block_size_));
}

void ShadowCache::write(std::int32_t group, BlockId block, std::int64_t offset, SlotTag tag) {
  RECTO_CHECK_GE(offset, 0);
  RECTO_CHECK_LT(offset, block_size_);
  slots(device_, block)[static_cast<std::size_t>(offset)] = {group, tag};
}

void ShadowCache::copy(std::span<const BlockCopy> copies) {
  std::set<BlockId> sources;
  std::set<BlockId> destinations;
  for (const BlockCopy& copy : copies) {
    sources.insert(copy.source);
    RECTO_CHECK(destinations.insert(copy.destination).second);
    RECTO_CHECK_GE(copy.slots.value(), 1);
    RECTO_CHECK_LE(copy.slots.value(), block_size_);
  }
  for (const BlockId destination : destinations) RECTO_CHECK(!sources.contains(destination));
  for (const BlockCopy& copy : copies) {
    std::copy_n(slots(device_, copy.source).begin(), copy.slots.value(),
                slots(device_, copy.destination).begin());
  }
}

void ShadowCache::copy_out(std::span<const SwapCopy> copies) {
  std::set<BlockId> destinations;
  for (const SwapCopy& copy : copies) {
    RECTO_CHECK(destinations.insert(copy.host).second);
    std::ranges::copy(slots(device_, copy.device), slots(host_, copy.host).begin());
  }
}

void ShadowCache::copy_in(std::span<const SwapCopy> copies) {
  std::set<BlockId> destinations;
  for (const SwapCopy& copy : copies) {
    RECTO_CHECK(destinations.insert(copy.device).second);
    std::ranges::copy(slots(host_, copy.host), slots(device_, copy.device).begin());
  }
}

SlotTag ShadowCache::read(std::int32_t group, BlockId block, std::int64_t offset) const {
  const Slot& slot = slots(device_, block)[static_cast<std::size_t>(offset)];
  return slot.group == group ? slot.tag : 0;
}

SlotTag ShadowCache::read_host(std::int32_t group, BlockId block, std::int64_t offset) const {
  const Slot& slot = slots(host_, block)[static_cast<std::size_t>(offset)];
  return slot.group == group ? slot.tag : 0;
}

}  // namespace recto::cache::testing

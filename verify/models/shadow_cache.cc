#include "verify/models/shadow_cache.h"

#include <algorithm>
#include <set>

#include "core/contract.h"

namespace recto::verify {

SlotTag SlotTags::tag(SlotTag before, const CacheText& text, std::int64_t position,
                      std::int64_t weights) {
  Source source{.before = before,
                .token = text.ids[static_cast<std::size_t>(position)],
                .lora_id = text.keys.lora_id,
                .tenant_salt = text.keys.tenant_salt,
                .weights = weights};
  for (const cache::MultimodalItem& item : text.items) {
    if (position < item.start || position >= item.start + item.length) continue;
    source.item = item.content_hash;
    source.item_offset = position - item.start;
  }
  const auto next = static_cast<SlotTag>(tags_.size()) + 1;
  return tags_.try_emplace(source, next).first->second;
}

std::vector<SlotTag> SlotTags::tags(const CacheText& text, std::int64_t weights) {
  std::vector<SlotTag> tags;
  for (std::int64_t position = 0; position < text.length(); ++position) {
    tags.push_back(tag(position == 0 ? 0 : tags.back(), text, position, weights));
  }
  return tags;
}

ShadowCache::ShadowCache(const cache::CacheOptions& options)
    : block_size_(options.block_size.value()),
      device_(static_cast<std::size_t>(options.num_blocks.value() * block_size_)),
      host_(static_cast<std::size_t>(options.host_blocks.value() * block_size_)) {}

std::size_t ShadowCache::first_slot(const std::vector<Slot>& pool, BlockId block) const {
  RECTO_CHECK_GE(block.value(), 0);
  RECTO_CHECK_LT(block.value() * block_size_, std::ssize(pool));
  return static_cast<std::size_t>(block.value() * block_size_);
}

void ShadowCache::write(std::int32_t group, BlockId block, std::int64_t offset, SlotTag tag) {
  RECTO_CHECK_GE(offset, 0);
  RECTO_CHECK_LT(offset, block_size_);
  device_[first_slot(device_, block) + static_cast<std::size_t>(offset)] = {group, tag};
}

void ShadowCache::copy(std::span<const cache::BlockCopy> copies) {
  std::set<BlockId> sources;
  std::set<BlockId> destinations;
  for (const cache::BlockCopy& copy : copies) {
    sources.insert(copy.source);
    RECTO_CHECK(destinations.insert(copy.destination).second);
    RECTO_CHECK_GE(copy.slots.value(), 1);
    RECTO_CHECK_LE(copy.slots.value(), block_size_);
  }
  for (const BlockId destination : destinations) RECTO_CHECK(!sources.contains(destination));
  for (const cache::BlockCopy& copy : copies) {
    std::copy_n(
        device_.begin() + static_cast<std::ptrdiff_t>(first_slot(device_, copy.source)),
        copy.slots.value(),
        device_.begin() + static_cast<std::ptrdiff_t>(first_slot(device_, copy.destination)));
  }
}

void ShadowCache::copy_out(std::span<const cache::SwapCopy> copies) {
  std::set<BlockId> destinations;
  for (const cache::SwapCopy& copy : copies) {
    RECTO_CHECK(destinations.insert(copy.host).second);
    std::copy_n(device_.begin() + static_cast<std::ptrdiff_t>(first_slot(device_, copy.device)),
                block_size_,
                host_.begin() + static_cast<std::ptrdiff_t>(first_slot(host_, copy.host)));
  }
}

void ShadowCache::copy_in(std::span<const cache::SwapCopy> copies) {
  std::set<BlockId> destinations;
  for (const cache::SwapCopy& copy : copies) {
    RECTO_CHECK(destinations.insert(copy.device).second);
    std::copy_n(host_.begin() + static_cast<std::ptrdiff_t>(first_slot(host_, copy.host)),
                block_size_,
                device_.begin() + static_cast<std::ptrdiff_t>(first_slot(device_, copy.device)));
  }
}

SlotTag ShadowCache::read(std::int32_t group, BlockId block, std::int64_t offset) const {
  const Slot& slot = device_[first_slot(device_, block) + static_cast<std::size_t>(offset)];
  return slot.group == group ? slot.tag : 0;
}

SlotTag ShadowCache::read_host(std::int32_t group, BlockId block, std::int64_t offset) const {
  const Slot& slot = host_[first_slot(host_, block) + static_cast<std::size_t>(offset)];
  return slot.group == group ? slot.tag : 0;
}

}  // namespace recto::verify

#include "cuda/cache/testing/shadow_cache.h"

#include <algorithm>

#include "cuda/cache/cache_ids.h"

namespace recto::cache::testing {
namespace {

void move_block(const std::vector<std::uint64_t>& from, BlockId source,
                std::vector<std::uint64_t>& to, BlockId destination, std::int64_t block_size) {
  std::copy_n(from.begin() + source.value() * block_size, block_size,
              to.begin() + destination.value() * block_size);
}

}  // namespace

ShadowCache::ShadowCache(const CacheOptions& options)
    : block_size_(options.block_size.value()),
      device_(static_cast<std::size_t>(options.num_blocks.value() * block_size_)),
      host_(static_cast<std::size_t>(options.host_blocks.value() * block_size_)) {}

// In the order that is worst for copies that depend on each other.
void ShadowCache::copy(std::span<const BlockCopy> copies) {
  for (auto copy = copies.rbegin(); copy != copies.rend(); ++copy) {
    for (std::int64_t offset = 0; offset < block_size_; ++offset) {
      slot(copy->destination, offset) =
          offset < copy->slots.value() ? slot(copy->source, offset) : ++garbage_;
    }
  }
}

void ShadowCache::copy_out(std::span<const SwapCopy> copies) {
  for (const SwapCopy& copy : copies)
    move_block(device_, copy.device, host_, copy.host, block_size_);
}

void ShadowCache::copy_in(std::span<const SwapCopy> copies) {
  for (const SwapCopy& copy : copies)
    move_block(host_, copy.host, device_, copy.device, block_size_);
}

void ShadowCache::write(const BlockManager& manager, SequenceHandle sequence, std::int64_t first,
                        std::span<const std::uint64_t> tags) {
  for (std::int32_t group = 0; group < std::ssize(manager.options().groups); ++group) {
    const std::span<const BlockId> table = manager.block_table(sequence, group).value();
    for (std::int64_t i = 0; i < std::ssize(tags); ++i) {
      const std::int64_t token = first + i;
      const BlockId block = table[static_cast<std::size_t>(token / block_size_)];
      slot(block, token % block_size_) = tags[static_cast<std::size_t>(i)];
    }
  }
}

void ShadowCache::scramble_lookahead(const BlockManager& manager, SequenceHandle sequence) {
  const SequenceView view = manager.view(sequence).value();
  const std::int64_t begin = view.context_length.value();
  std::vector<std::uint64_t> garbage(
      static_cast<std::size_t>(std::max<std::int64_t>(view.capacity.value() - begin, 0)));
  for (std::uint64_t& tag : garbage) tag = ++garbage_;
  write(manager, sequence, begin, garbage);
}

Status ShadowCache::check(const BlockManager& manager, SequenceHandle sequence,
                          std::span<const std::uint64_t> tags) const {
  const std::int64_t length = manager.view(sequence).value().context_length.value();
  for (std::int32_t group = 0; group < std::ssize(manager.options().groups); ++group) {
    const auto window = manager.options().groups[static_cast<std::size_t>(group)].window;
    const std::int64_t seen = window ? std::min(length, window->value() - 1) : length;
    const std::span<const BlockId> table = manager.block_table(sequence, group).value();
    for (std::int64_t token = length - seen; token < length; ++token) {
      const BlockId block = table[static_cast<std::size_t>(token / block_size_)];
      const std::string name = "token " + std::to_string(token) + " in group " +
                               std::to_string(group) + " of sequence " +
                               internal::describe(sequence);
      if (block == kNoBlock) return Status::failed(name + " has no block");
      const std::int64_t place = block.value() * block_size_ + token % block_size_;
      const std::uint64_t tag = device_[static_cast<std::size_t>(place)];
      if (tag == tags[static_cast<std::size_t>(token)]) continue;
      return Status::failed(name + ": slot " + std::to_string(place) + " has something else");
    }
  }
  return Status::ok();
}

}  // namespace recto::cache::testing

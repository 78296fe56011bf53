#include "cuda/cache/testing/cache_text.h"

#include <algorithm>

#include "core/random_stream.h"

namespace recto::cache::testing {

bool operator==(const CacheText& a, const CacheText& b) {
  const auto same_item = [](const MultimodalItem& one, const MultimodalItem& other) {
    return one.content_hash == other.content_hash && one.start == other.start &&
           one.length == other.length;
  };
  return a.ids == b.ids && a.keys == b.keys && std::ranges::equal(a.items, b.items, same_item);
}

std::ostream& operator<<(std::ostream& out, const CacheText& text) {
  out << "'";
  for (const TokenId id : text.ids) out << id;
  out << "'";
  if (text.keys.lora_id != 0) out << " lora " << text.keys.lora_id;
  if (text.keys.tenant_salt != 0) out << " salt " << text.keys.tenant_salt;
  for (const MultimodalItem& item : text.items) {
    out << " item " << item.content_hash << " at " << item.start << "+" << item.length;
  }
  return out;
}

bool has_proper_items(const Tokens& tokens) {
  std::int64_t end = 0;
  for (const MultimodalItem& item : tokens.items) {
    if (item.start < end || item.length < 1) return false;
    end = item.start + item.length;
  }
  return true;
}

std::uint64_t wide_id(std::uint64_t index) {
  constexpr std::uint64_t kLowHalf = 0xffff'ffff;
  const std::uint64_t high = mix_bits(index & ~std::uint64_t{2});
  const std::uint64_t low = mix_bits(~(index & ~std::uint64_t{1}));
  return (high & ~kLowHalf) | (low & kLowHalf);
}

BlockText block_text(const Prompt& prompt, std::int64_t block_size, std::int64_t index) {
  const std::int64_t begin = index * block_size;
  BlockText block;
  const auto first = prompt.tokens.ids.begin() + begin;
  block.tokens.assign(first, first + block_size);
  if (index == 0 && prompt.keys != CacheKeys{}) {
    block.words = {prompt.keys.lora_id, prompt.keys.tenant_salt};
  }
  for (const MultimodalItem& item : prompt.tokens.items) {
    if (item.start >= begin + block_size || item.start + item.length <= begin) continue;
    block.words.push_back(item.content_hash);
    block.words.push_back(static_cast<std::uint64_t>(item.start - begin));
    block.words.push_back(static_cast<std::uint64_t>(item.length));
    ++block.num_items;
  }
  return block;
}

SlotTag slot_tag(SlotTag before, const CacheText& text, std::int64_t position,
                 std::uint64_t weights) {
  SlotTag tag = before;
  const auto add = [&tag](std::uint64_t source) { tag = mix_bits(tag ^ mix_bits(source + 1)); };
  add(static_cast<std::uint64_t>(text.ids[static_cast<std::size_t>(position)]));
  add(text.keys.lora_id);
  add(text.keys.tenant_salt);
  add(weights);
  for (const MultimodalItem& item : text.items) {
    if (position < item.start || position >= item.start + item.length) continue;
    add(item.content_hash);
    add(static_cast<std::uint64_t>(position - item.start));
  }
  return tag;
}

std::vector<SlotTag> slot_tags(const CacheText& text, std::int64_t length, std::uint64_t weights) {
  std::vector<SlotTag> tags;
  for (std::int64_t position = 0; position < length; ++position) {
    tags.push_back(slot_tag(position == 0 ? 0 : tags.back(), text, position, weights));
  }
  return tags;
}

}  // namespace recto::cache::testing

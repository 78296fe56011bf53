#include "verify/models/cache_text.h"

#include <algorithm>

namespace recto::verify {
namespace {

bool same_item(const cache::MultimodalItem& a, const cache::MultimodalItem& b) {
  return a.content_hash == b.content_hash && a.start == b.start && a.length == b.length;
}

}  // namespace

bool operator==(const CacheText& a, const CacheText& b) {
  return a.ids == b.ids && a.keys == b.keys && std::ranges::equal(a.items, b.items, same_item);
}

std::ostream& operator<<(std::ostream& out, const CacheText& text) {
  out << "'";
  for (const cache::TokenId id : text.ids) out << id;
  out << "'";
  if (text.keys.lora_id != 0) out << " lora " << text.keys.lora_id;
  if (text.keys.tenant_salt != 0) out << " salt " << text.keys.tenant_salt;
  for (const cache::MultimodalItem& item : text.items) {
    out << " item " << item.content_hash << " at " << item.start << "+" << item.length;
  }
  return out;
}

bool has_proper_items(const CacheText& text) {
  std::int64_t end = 0;
  for (const cache::MultimodalItem& item : text.items) {
    if (item.start < end || item.length < 1) return false;
    end = item.start + item.length;
  }
  return true;
}

BlockText block_text(const CacheText& text, std::int64_t block_size, std::int64_t index) {
  const std::int64_t begin = index * block_size;
  BlockText block;
  block.tokens.assign(text.ids.begin() + begin, text.ids.begin() + begin + block_size);
  if (index == 0 && text.keys != cache::CacheKeys{}) {
    block.words = {text.keys.lora_id, text.keys.tenant_salt};
  }
  for (const cache::MultimodalItem& item : text.items) {
    if (item.start >= begin + block_size || item.start + item.length <= begin) continue;
    block.words.push_back(item.content_hash);
    block.words.push_back(static_cast<std::uint64_t>(item.start - begin));
    block.words.push_back(static_cast<std::uint64_t>(item.length));
    ++block.num_items;
  }
  return block;
}

std::int32_t BlockTexts::number(const BlockText& text) {
  const auto next = static_cast<std::int32_t>(texts_.size());
  const auto [entry, is_new] = numbers_.try_emplace(text, next);
  met_words_ = met_words_ || !text.words.empty();
  if (is_new) texts_.push_back(&entry->first);
  return entry->second;
}

const BlockText& BlockTexts::text(std::int32_t number) const {
  return *texts_[static_cast<std::size_t>(number)];
}

}  // namespace recto::verify

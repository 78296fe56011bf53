#include "cuda/cache/content_reader.h"

#include <algorithm>
#include <limits>
#include <string>

namespace recto::cache {

Status check_tokens(const Tokens& tokens) {
  std::int64_t end = 0;
  for (std::size_t i = 0; i < tokens.items.size(); ++i) {
    const MultimodalItem& item = tokens.items[i];
    const std::int64_t room = std::numeric_limits<std::int64_t>::max() - std::max(item.start, end);
    if (item.start >= end && item.length >= 1 && item.length <= room) {
      end = item.start + item.length;
      continue;
    }
    return Status::invalid_input(
        "items[" + std::to_string(i) + "]: start = " + std::to_string(item.start) +
        ", length = " + std::to_string(item.length) + "; expected a start of at least " +
        std::to_string(end) + ", where the one before ends, and a length of at least 1");
  }
  return Status::ok();
}

bool ContentReader::read(std::int64_t block, std::int64_t block_size) {
  const std::int64_t begin = block * block_size;
  std::size_t num_words = 0;
  if (block == 0 && keys_ != CacheKeys()) {
    words_[num_words++] = keys_.lora_id;
    words_[num_words++] = keys_.tenant_salt;
  }
  const auto ends_before = [begin](const MultimodalItem& item) {
    return item.start + item.length <= begin;
  };
  auto item = std::partition_point(tokens_.items.begin(), tokens_.items.end(), ends_before);
  for (std::int32_t count = 0; item != tokens_.items.end() && item->start < begin + block_size;
       ++item) {
    if (++count > max_items_) return false;
    words_[num_words++] = item->content_hash;
    words_[num_words++] = static_cast<std::uint64_t>(item->start - begin);
    words_[num_words++] = static_cast<std::uint64_t>(item->length);
  }
  content_.tokens =
      tokens_.ids.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(block_size));
  content_.extra_words = {words_.data(), num_words};
  return true;
}

}  // namespace recto::cache

#include "cuda/cache/prompt_reader.h"

#include <algorithm>
#include <limits>

#include "cuda/cache/message.h"

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
        message("items[", i, "]: start = ", item.start, ", length = ", item.length,
                "; expected a start of at least ", end,
                ", the end of the item before, and a length of at least 1"));
  }
  return Status::ok();
}

bool PromptReader::next(NodeId parent) {
  const std::int64_t block_size = options_.block_size.value();
  const std::int64_t begin = block_ * block_size;
  if (!read_words(begin, begin + block_size)) return false;
  content_.tokens =
      tokens_.ids.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(block_size));
  key_.parent = parent;
  key_.hash = block_ < std::ssize(told_)
                  ? told_[static_cast<std::size_t>(block_)]
                  : options_.prefix.hasher(key_.hash, content_.tokens, content_.extra_words);
  ++block_;
  return true;
}

bool PromptReader::read_words(std::int64_t begin, std::int64_t end) {
  std::size_t num_words = 0;
  if (begin == 0 && keys_ != CacheKeys()) {
    words_[num_words++] = keys_.lora_id;
    words_[num_words++] = keys_.tenant_salt;
  }
  const auto ends_before = [begin](const MultimodalItem& item) {
    return item.start + item.length <= begin;
  };
  const std::span<const MultimodalItem> items = tokens_.items;
  auto item = std::partition_point(items.begin(), items.end(), ends_before);
  for (std::int32_t count = 0; item != items.end() && item->start < end; ++item) {
    if (++count > options_.prefix.max_items_per_block) return false;
    words_[num_words++] = item->content_hash;
    words_[num_words++] = static_cast<std::uint64_t>(item->start - begin);
    words_[num_words++] = static_cast<std::uint64_t>(item->length);
  }
  content_.extra_words = {words_.data(), num_words};
  return true;
}

Result<std::int64_t> hash_prompt(const CacheOptions& options, const Prompt& prompt,
                                 std::span<BlockHash> hashes) {
  RECTO_RETURN_IF_ERROR(check_tokens(prompt.tokens));
  if (max_nodes(options) == 0) return 0;
  const std::int64_t full = std::ssize(prompt.tokens.ids) / options.block_size.value();
  PromptReader reader(options, prompt);
  std::int64_t block = 0;
  for (; block < std::min(full, std::ssize(hashes)) && reader.next(kRoot); ++block) {
    hashes[static_cast<std::size_t>(block)] = reader.key().hash;
  }
  return block;
}

}  // namespace recto::cache

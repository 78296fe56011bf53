#include "cuda/cache/prompt_reader.h"

#include <vector>

#include "bazel/testing/catch.h"

namespace recto::cache {
namespace {

using Words = std::vector<std::uint64_t>;

CacheOptions options_with(std::int32_t max_items) {
  CacheOptions options;
  options.block_size = TokenCount(4);
  options.prefix.max_items_per_block = max_items;
  return options;
}

// The extra words of the next block.
Words next_words(PromptReader& reader) {
  REQUIRE(reader.next(kRoot));
  const auto words = reader.content().extra_words;
  return Words(words.begin(), words.end());
}

TEST_CASE("a block's words are the items that lie on it, after the keys in the first block") {
  const CacheOptions options = options_with(2);
  const std::vector<TokenId> ids(12, 7);
  // Each word is kept whole.
  constexpr std::uint64_t kHash = 0x5051'5253'5455'5657;
  constexpr std::uint64_t kLora = 0x8081'8283'8485'8687;
  constexpr std::uint64_t kSalt = 0x9091'9293'9495'9697;
  // The last of them is not the prompt's.
  const std::vector<MultimodalItem> items = {{.content_hash = kHash, .start = 3, .length = 2},
                                             {.content_hash = 60, .start = 6, .length = 1}};
  const Prompt prompt = {.tokens = {.ids = ids, .items = std::span(items).first(1)},
                         .keys = {.lora_id = kLora, .tenant_salt = kSalt}};
  PromptReader reader(options, prompt);
  CHECK(next_words(reader) == Words{kLora, kSalt, kHash, 3, 2});
  CHECK(next_words(reader) == Words{kHash, static_cast<std::uint64_t>(-1), 2});
  CHECK(next_words(reader).empty());
  CHECK(reader.content().tokens.size() == 4);
}

TEST_CASE("a block with more items than allowed is not read") {
  const std::vector<TokenId> ids(4, 7);
  const std::vector<MultimodalItem> items = {{.content_hash = 50, .start = 0, .length = 1},
                                             {.content_hash = 60, .start = 1, .length = 1}};
  const Prompt prompt = {.tokens = {.ids = ids, .items = items}, .keys = {}};
  const CacheOptions two = options_with(2);
  const CacheOptions one = options_with(1);
  CHECK(PromptReader(two, prompt).next(kRoot));
  CHECK_FALSE(PromptReader(one, prompt).next(kRoot));
}

}  // namespace
}  // namespace recto::cache

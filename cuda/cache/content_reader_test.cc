#include "cuda/cache/content_reader.h"

#include <vector>

#include "bazel/testing/catch.h"

namespace recto::cache {
namespace {

using Words = std::vector<std::uint64_t>;

// What is read of a block of four tokens.
Words words_of(ContentReader& reader, std::int64_t block) {
  REQUIRE(reader.read(block, 4));
  const auto words = reader.content().extra_words;
  return Words(words.begin(), words.end());
}

TEST_CASE("a block has the items that lie on it, the first one its keys too") {
  const std::vector<TokenId> ids(12, 7);
  // The last of them is not the prompt's.
  const std::vector<MultimodalItem> items = {{.content_hash = 50, .start = 3, .length = 2},
                                             {.content_hash = 60, .start = 6, .length = 1}};
  const Tokens tokens = {.ids = ids, .items = std::span(items).first(1)};
  ContentReader reader(tokens, {.lora_id = 8, .tenant_salt = 9}, 2);
  CHECK(words_of(reader, 0) == Words{8, 9, 50, 3, 2});
  CHECK(words_of(reader, 1) == Words{50, static_cast<std::uint64_t>(-1), 2});
  CHECK(words_of(reader, 2).empty());
  CHECK(reader.content().tokens.size() == 4);
}

TEST_CASE("more items than there may be on a block are not read") {
  const std::vector<TokenId> ids(4, 7);
  const std::vector<MultimodalItem> items = {{.content_hash = 50, .start = 0, .length = 1},
                                             {.content_hash = 60, .start = 1, .length = 1}};
  const Tokens tokens = {.ids = ids, .items = items};
  CHECK(ContentReader(tokens, {}, 2).read(0, 4));
  CHECK_FALSE(ContentReader(tokens, {}, 1).read(0, 4));
}

}  // namespace
}  // namespace recto::cache

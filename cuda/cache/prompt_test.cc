#include "cuda/cache/prompt.h"

#include <span>
#include <vector>

#include "bazel/testing/catch.h"
#include "cuda/cache/testing/checked_manager.h"

namespace recto::cache {
namespace {

using testing::CheckedManager;
using testing::Ids;
using testing::ids_from;
using testing::prompt_of;
using testing::small_options;

TEST_CASE("a prompt with hashes of its blocks has the same hits and hashes as without") {
  CheckedManager cache(small_options(16));
  cache.visit(ids_from(1, 12));
  const Ids ids = ids_from(1, 14);
  Prompt prompt = prompt_of(ids);
  std::vector<BlockHash> hashes(5);
  REQUIRE(cache.manager().hash_prompt(prompt, hashes).value() == 3);
  for (const std::size_t told : {0U, 1U, 3U}) {
    prompt.hashes = std::span(hashes).first(told);
    CHECK(cache.manager().cached_prefix(prompt) == TokenCount(12));
    // hash_prompt copies the hashes that the prompt has, and continues from them.
    std::vector<BlockHash> again(3);
    CHECK(cache.manager().hash_prompt(prompt, again).value() == 3);
    CHECK(again == std::vector(hashes.begin(), hashes.begin() + 3));
  }
  CHECK(cache.admit(prompt).hit == TokenCount(12));
  CHECK(cache.manager().hash_prompt(prompt, std::span(hashes).first(2)).value() == 2);
}

TEST_CASE("wrong hashes in a prompt cost hits, and nothing else") {
  CheckedManager cache(small_options(16));
  cache.visit(ids_from(1, 12));
  cache.visit(ids_from(101, 12));
  const Ids ids = ids_from(1, 13);
  const Ids other = ids_from(101, 13);
  std::vector<BlockHash> hashes(3);
  REQUIRE(cache.manager().hash_prompt(prompt_of(other), hashes).value() == 3);
  Prompt prompt = prompt_of(ids);
  prompt.hashes = hashes;
  CHECK(cache.manager().cached_prefix(prompt) == TokenCount(0));
  const Admission admitted = cache.admit(prompt);
  CHECK(admitted.hit == TokenCount(0));
  cache.append(admitted.sequence, 13);
  CHECK(cache.commit(admitted.sequence, ids) == Status::ok());  // hashes its tokens
  CHECK(cache.hit(ids) == 12);
  CHECK(cache.hit(other) == 12);
}

TEST_CASE("hash_prompt stops at a block with too many items, and at 0 without a prefix cache") {
  CacheOptions options = small_options(16);
  options.prefix.max_items_per_block = 1;
  const Ids ids = ids_from(1, 13);
  std::vector<MultimodalItem> items = {{.content_hash = 1, .start = 4, .length = 1},
                                       {.content_hash = 2, .start = 6, .length = 1}};
  const Prompt prompt{.tokens = {.ids = ids, .items = items}, .keys = {}};
  std::vector<BlockHash> hashes(3);
  CheckedManager cache(options);
  CHECK(cache.manager().hash_prompt(prompt, hashes).value() == 1);
  items[1].start = 8;
  CHECK(cache.manager().hash_prompt(prompt, hashes).value() == 3);
  items[1].start = 3;
  CHECK(cache.manager().hash_prompt(prompt, hashes).status().code() == StatusCode::kInvalidInput);
  options.prefix.caching = PrefixCaching::kOff;
  CHECK(CheckedManager(options).manager().hash_prompt(prompt_of(ids), hashes).value() == 0);
}

}  // namespace
}  // namespace recto::cache

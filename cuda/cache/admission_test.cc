#include <limits>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "cuda/cache/cache_core.h"
#include "cuda/cache/testing/cache_text.h"
#include "cuda/cache/testing/checked_manager.h"

namespace recto::cache {
namespace {

using testing::CheckedManager;
using testing::Ids;
using testing::ids_from;
using testing::prompt_of;
using testing::small_options;

TEST_CASE("a prompt gets blocks for all of its tokens, and computes them") {
  CheckedManager cache(small_options(8));
  const Admission admitted = cache.admit(prompt_of(ids_from(1, 9)));
  CHECK(admitted.hit == TokenCount(0));
  CHECK(cache.table(admitted.sequence) == std::vector<std::int32_t>{0, 1, 2});
  CHECK(cache.view(admitted.sequence).context_length == TokenCount(0));
  CHECK(cache.view(admitted.sequence).capacity == TokenCount(12));
}

TEST_CASE("hits are whole blocks, and leave the last token to be computed") {
  CheckedManager cache(small_options(8));
  cache.visit(ids_from(1, 8));
  CHECK(cache.hit(ids_from(1, 4)) == 0);
  CHECK(cache.hit(ids_from(1, 5)) == 4);
  CHECK(cache.hit(ids_from(1, 8)) == 4);
  CHECK(cache.hit(ids_from(1, 9)) == 8);
  CHECK(cache.hit({1}) == 0);
  const Admission admitted = cache.admit(prompt_of(ids_from(1, 9)));
  CHECK(admitted.hit == TokenCount(8));
  CHECK(cache.view(admitted.sequence).published == BlockCount(2));
}

TEST_CASE("with blocks of one slot every token but the last can hit") {
  CacheOptions options = small_options(8);
  options.block_size = TokenCount(1);
  CheckedManager cache(options);
  cache.visit({1, 2, 3});
  CHECK(cache.hit({1, 2, 3}) == 2);
  CHECK(cache.hit({1, 2, 3, 4}) == 3);
  CHECK(cache.hit({1}) == 0);
  const SequenceHandle sequence = cache.computed({1, 2, 9});
  CHECK(cache.table(sequence).size() == 3);
}

TEST_CASE("a live sequence's blocks are hit, and shared") {
  CheckedManager cache(small_options(8));
  const SequenceHandle first = cache.computed(ids_from(1, 8));
  const SequenceHandle second = cache.admit(ids_from(1, 12));
  CHECK(cache.table(second)[0] == cache.table(first)[0]);
  CHECK(cache.table(second)[1] == cache.table(first)[1]);
  CHECK(cache.manager().states().used == TokenCount(8));
}

TEST_CASE("evictable hits do not count as room for the rest of the prompt") {
  CheckedManager cache(small_options(3));
  cache.visit(ids_from(1, 8));  // two of three blocks cached
  REQUIRE(cache.available() == 3);
  // Four blocks with two hits: two more are needed, but only one available block is not a hit.
  const auto refused = cache.try_admit(prompt_of(ids_from(1, 16)));
  CHECK(
      refused.status() ==
      Status::exhausted("admit: needs 2 blocks besides a cached prefix of 2 per group, which takes "
                        "2 of the evictable blocks; there are 1 free and 2 evictable, and a "
                        "watermark of 0"));
  CHECK(cache.try_admit(prompt_of(ids_from(1, 12))).is_ok());
  CHECK(cache.available() == 0);
}

TEST_CASE("the requested room may be less than the prompt, or than its hit") {
  CheckedManager cache(small_options(8));
  cache.visit(ids_from(1, 12));
  const auto part = cache.try_admit(prompt_of(ids_from(50, 20)), TokenCount(6)).value();
  CHECK(cache.view(part.sequence).capacity == TokenCount(8));
  const auto less = cache.try_admit(prompt_of(ids_from(1, 20)), TokenCount(5)).value();
  CHECK(less.hit == TokenCount(12));
  CHECK(cache.view(less.sequence).capacity == TokenCount(12));
  const auto none = cache.try_admit(prompt_of(ids_from(70, 20)), TokenCount(0)).value();
  CHECK(cache.view(none.sequence).capacity == TokenCount(0));
}

TEST_CASE("the watermark stays available, exactly") {
  CacheOptions options = small_options(4);
  options.watermark = BlockCount(2);
  CheckedManager cache(options);
  CHECK_FALSE(cache.try_admit(prompt_of(ids_from(1, 9))).is_ok());
  const auto admitted = cache.try_admit(prompt_of(ids_from(1, 8)));
  REQUIRE(admitted.is_ok());
  CHECK(cache.available() == 2);
  CHECK_FALSE(cache.try_admit(prompt_of({1})).is_ok());
  cache.append(admitted.value().sequence, 16);  // growth may use the blocks that admission leaves
  CHECK(cache.available() == 0);
}

TEST_CASE("the number of sequences is bounded, and the index of a released one is used again") {
  CheckedManager cache(small_options(8));
  std::vector<SequenceHandle> all;
  for (int i = 0; i < 6; ++i) all.push_back(cache.admit({i}));
  CHECK(cache.try_admit(prompt_of({9})).status() ==
        Status::exhausted("admit: all 6 sequences are in use"));
  // Permanent failures are reported first.
  CHECK(cache.try_admit(prompt_of({})).status().code() == StatusCode::kInvalidInput);
  CHECK(cache.release(all[2]) == Status::ok());
  const SequenceHandle again = cache.admit({9});
  CHECK(again.index == all[2].index);
  CHECK(again.generation == all[2].generation + 1);
}

TEST_CASE("prompts and rooms out of range are refused by name") {
  CheckedManager cache(small_options(100));
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  const auto refusal = [&](const Ids& ids, std::optional<TokenCount> room = {}) {
    return cache.try_admit(prompt_of(ids), room).status();
  };
  CHECK(refusal({}) ==
        Status::invalid_input("admit: prompt of 0 tokens; expected 1 to the 32 of a block table"));
  CHECK(refusal(ids_from(1, 32)) == Status::ok());
  CHECK(refusal(ids_from(1, 33)).code() == StatusCode::kInvalidInput);
  CHECK(refusal({1}, TokenCount(32)) == Status::ok());
  CHECK(refusal({1}, TokenCount(33)) ==
        Status::invalid_input("admit: room for 33 tokens; expected 0 to the 32 of a block table"));
  CHECK(refusal({1}, TokenCount(-1)).code() == StatusCode::kInvalidInput);
  CHECK(refusal({1}, TokenCount(kMost)).code() == StatusCode::kInvalidInput);
  CHECK(refusal({1}, TokenCount(std::numeric_limits<std::int64_t>::min())).code() ==
        StatusCode::kInvalidInput);
}

TEST_CASE("a prompt with other keys, other tokens or another prefix has no hit") {
  CheckedManager cache(small_options(16));
  cache.visit(ids_from(1, 8));
  CHECK(cache.hit(ids_from(1, 9)) == 8);
  CHECK(cache.hit(ids_from(1, 9), {.lora_id = 1, .tenant_salt = 0}) == 0);
  CHECK(cache.hit(ids_from(1, 9), {.lora_id = 0, .tenant_salt = 1}) == 0);
  // Keys of which only a half differs.
  const auto keys = [](std::uint64_t lora, std::uint64_t salt) {
    return CacheKeys{.lora_id = testing::wide_id(lora), .tenant_salt = testing::wide_id(salt)};
  };
  cache.visit(ids_from(1, 8), keys(0, 4));
  CHECK(cache.hit(ids_from(1, 9), keys(0, 4)) == 8);
  for (const std::uint64_t half : {1U, 2U}) {
    CHECK(cache.hit(ids_from(1, 9), keys(half, 4)) == 0);
    CHECK(cache.hit(ids_from(1, 9), keys(0, 4 + half)) == 0);
  }
  CHECK(cache.hit({9, 2, 3, 4, 5, 6, 7, 8, 9}) == 0);
  for (std::size_t place = 0; place < 8; ++place) {
    Ids changed = ids_from(1, 9);
    changed[place] += 1000;
    CHECK(cache.hit(changed) == (place < 4 ? 0 : 4));
  }
  // The second block's tokens have different content as a first block.
  CHECK(cache.hit(ids_from(5, 5)) == 0);
}

TEST_CASE("hash collisions change no hit, and are counted") {
  CacheOptions options = small_options(16);
  options.prefix.hasher.mask = 0;
  CheckedManager cache(options);
  cache.visit(ids_from(1, 8));
  cache.visit(ids_from(101, 8));
  CHECK(cache.hit(ids_from(1, 9)) == 8);
  CHECK(cache.hit(ids_from(101, 9)) == 8);
  CHECK(cache.hit(ids_from(201, 9)) == 0);
  CHECK(cache.hit({1, 2, 3, 4, 105, 106, 107, 108, 9}) == 4);
  const std::int64_t before = cache.manager().statistics().collisions;
  cache.admit(ids_from(201, 9));
  CHECK(cache.manager().statistics().collisions == before + 4);
}

TEST_CASE("a window group holds only the blocks that the next row sees") {
  CacheOptions options = small_options(16);
  options.groups = {LayerGroup{.num_layers = 1, .window = TokenCount(4)}};
  CheckedManager cache(options);
  cache.visit(ids_from(1, 16));
  const SequenceHandle hit = cache.admit(ids_from(1, 17));
  const std::vector<std::int32_t> table = cache.table(hit);
  REQUIRE(table.size() == 5);
  CHECK(table[0] == -1);
  CHECK(table[2] == -1);
  CHECK(table[3] >= 0);  // the row at 16 sees tokens 13 to 15
  CHECK(cache.view(hit).context_length == TokenCount(16));
  CHECK(cache.manager().states().used == TokenCount(3));
}

TEST_CASE("a window of one token hits a cached prefix without holding its blocks") {
  CacheOptions options = small_options(16);
  options.groups = {LayerGroup{.num_layers = 1, .window = TokenCount(1)}};
  CheckedManager cache(options);
  cache.visit(ids_from(1, 16));
  const SequenceHandle hit = cache.admit(ids_from(1, 17));
  CHECK(cache.table(hit).front() == -1);
  CHECK(cache.table(hit).back() >= 0);
  CHECK(cache.manager().states().used == TokenCount(0));
}

TEST_CASE("a prefix is a hit only if every group has the blocks that the next row sees") {
  CacheOptions options = small_options(15);
  options.groups = {LayerGroup{}, LayerGroup{.num_layers = 1, .window = TokenCount(5)}};
  CheckedManager cache(options);
  const SequenceHandle sequence = cache.computed(ids_from(1, 16));
  cache.append(sequence, 1);  // the window's first three blocks become evictable
  CHECK(cache.hit(ids_from(1, 9)) == 8);
  cache.admit(ids_from(1000, 8));
  cache.admit(ids_from(2000, 8));
  CHECK(cache.available() == 0);
  CHECK(cache.hit(ids_from(1, 17)) == 16);  // the end of the context is still cached
  CHECK(cache.hit(ids_from(1, 9)) == 0);    // the tokens that a row at 8 sees are not
  CHECK(cache.manager().statistics().evicted > 0);
}

TEST_CASE("without a prefix cache nothing is found, counted or kept") {
  CacheOptions options = small_options(8);
  options.prefix.caching = PrefixCaching::kOff;
  CheckedManager cache(options);
  for (int i = 0; i < 5; ++i) cache.visit(ids_from(1, 8));
  CHECK(cache.hit(ids_from(1, 9)) == 0);
  CHECK(cache.manager().states().cached == TokenCount(0));
  CHECK(cache.manager().statistics() == CacheStatistics{});
}

TEST_CASE("queries and hits are counted for what was admitted") {
  CacheOptions options = small_options(4);
  CheckedManager cache(options);
  cache.visit(ids_from(1, 8));
  CHECK(cache.hit(ids_from(1, 9)) == 8);
  CHECK_FALSE(cache.try_admit(prompt_of(ids_from(1, 32))).is_ok());
  const CacheStatistics before = cache.manager().statistics();
  CHECK(before.queries == 1);
  CHECK(before.hit_tokens == 0);
  cache.admit(ids_from(1, 9));
  CHECK(cache.manager().statistics().queries == 2);
  CHECK(cache.manager().statistics().query_tokens == 17);
  CHECK(cache.manager().statistics().hit_tokens == 8);
}

TEST_CASE("eighty groups have a table each, and hash a prompt once") {
  CacheOptions options = small_options(80 * 6);
  options.groups.resize(80);
  CheckedManager cache(options);
  const SequenceHandle first = cache.computed(ids_from(1, 9));
  CHECK(cache.manager().states().used == TokenCount(9 * 80));
  CHECK(cache.manager().group_states(79).used == TokenCount(9));
  CHECK_THROWS_AS(cache.manager().group_states(80), ContractFailure);
  CHECK(CacheCore::of(cache.manager()).prefix.index().num_nodes() == 2);
  const SequenceHandle second = cache.admit(ids_from(1, 9));
  for (std::int32_t group = 0; group < 80; ++group) {
    CHECK(cache.table(first, group)[1] == cache.table(second, group)[1]);
    CHECK(cache.table(first, group)[2] != cache.table(second, group)[2]);
  }
}

}  // namespace
}  // namespace recto::cache

#include "cuda/cache/testing/shadow_cache.h"

#include "bazel/testing/catch.h"
#include "core/contract.h"

namespace recto::cache::testing {
namespace {

CacheOptions small_cache() {
  CacheOptions options;
  options.num_blocks = BlockCount(3);
  options.block_size = TokenCount(2);
  options.host_blocks = BlockCount(2);
  return options;
}

TEST_CASE("tags are equal exactly if all inputs of K and V are equal") {
  const auto tags = [](const CacheText& text, std::uint64_t weights) {
    return slot_tags(text, text.length(), weights);
  };
  const CacheText text = {.ids = {1, 2, 1}};
  const std::vector<SlotTag> plain = tags(text, 0);
  CHECK(tags(text, 0) == plain);
  CHECK(plain[0] != plain[2]);
  CHECK(tags({.ids = {1, 3, 1}}, 0)[0] == plain[0]);
  CHECK(tags({.ids = {1, 3, 1}}, 0)[2] != plain[2]);
  CHECK(tags(text, 1)[0] != plain[0]);
  CHECK(tags({.ids = {1}, .keys = {.lora_id = 1}}, 0)[0] != plain[0]);
  CHECK(tags({.ids = {1}, .keys = {.tenant_salt = 1}}, 0)[0] != plain[0]);
  const MultimodalItem item{.content_hash = 5, .start = 1, .length = 1};
  CHECK(tags({.ids = {1, 2}, .items = {item}}, 0)[0] == plain[0]);
  CHECK(tags({.ids = {1, 2}, .items = {item}}, 0)[1] != plain[1]);
}

TEST_CASE("a copy moves the tags of as many slots as it names") {
  ShadowCache shadow(small_cache());
  shadow.write(0, BlockId(0), 0, 7);
  shadow.write(0, BlockId(0), 1, 8);
  const std::vector<BlockCopy> copies = {
      {.source = BlockId(0), .destination = BlockId(1), .slots = TokenCount(1)},
      {.source = BlockId(0), .destination = BlockId(2), .slots = TokenCount(2)}};
  shadow.copy(copies);
  CHECK(shadow.read(0, BlockId(1), 0) == 7);
  CHECK(shadow.read(0, BlockId(1), 1) == 0);
  CHECK(shadow.read(0, BlockId(2), 1) == 8);
  CHECK(shadow.read(1, BlockId(2), 1) == 0);
}

TEST_CASE("copies that conflict in one batch, and blocks out of range, break the contract") {
  ShadowCache shadow(small_cache());
  const BlockCopy copy{.source = BlockId(0), .destination = BlockId(1), .slots = TokenCount(1)};
  const BlockCopy chained{.source = BlockId(1), .destination = BlockId(2), .slots = TokenCount(1)};
  CHECK_NOTHROW(shadow.copy(std::vector{copy}));
  CHECK_THROWS_AS(shadow.copy(std::vector{copy, copy}), ContractFailure);
  CHECK_THROWS_AS(shadow.copy(std::vector{copy, chained}), ContractFailure);
  CHECK_THROWS_AS(shadow.write(0, BlockId(3), 0, 1), ContractFailure);
}

TEST_CASE("tags copied to the host come back with their block") {
  ShadowCache shadow(small_cache());
  shadow.write(0, BlockId(2), 1, 9);
  shadow.copy_out(std::vector{SwapCopy{.device = BlockId(2), .host = BlockId(0)}});
  shadow.write(0, BlockId(2), 1, 1);
  CHECK(shadow.read_host(0, BlockId(0), 1) == 9);
  shadow.copy_in(std::vector{SwapCopy{.device = BlockId(1), .host = BlockId(0)}});
  CHECK(shadow.read(0, BlockId(1), 1) == 9);
}

}  // namespace
}  // namespace recto::cache::testing

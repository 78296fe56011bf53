// Tests of the model alone, with results that can be checked by hand.

#include "verify/block_manager/testing/block_manager_model.h"

#include <utility>
#include <vector>

#include "bazel/testing/catch.h"

namespace recto::verify {
namespace {

using cache::testing::CacheText;

cache::CacheOptions small_cache() {
  cache::CacheOptions options;
  options.num_blocks = BlockCount(4);
  options.block_size = TokenCount(2);
  options.host_blocks = BlockCount(4);
  options.max_sequences = 3;
  options.max_blocks_per_sequence = BlockCount(4);
  return options;
}

CacheText text_of(std::vector<cache::TokenId> ids) { return {.ids = std::move(ids)}; }

// A sequence that was admitted, appended and committed.
cache::SequenceHandle computed(BlockManagerModel& model, const CacheText& text) {
  const cache::Admission admitted = model.admit(text.prompt()).value();
  REQUIRE(model.append(admitted.sequence, TokenCount(text.length()) - admitted.hit).is_ok());
  REQUIRE(model.commit(admitted.sequence, text.prompt().tokens).is_ok());
  return admitted.sequence;
}

TEST_CASE("a prompt hits whole computed blocks, and computes its last token") {
  BlockManagerModel model(small_cache());
  const cache::SequenceHandle first = computed(model, text_of({1, 2, 3, 4}));
  CHECK(model.view(first).value().published.value() == 2);
  CHECK(model.cached_prefix(text_of({1, 2, 3, 4}).prompt()).value() == 2);
  CHECK(model.cached_prefix(text_of({1, 2, 3, 4, 5}).prompt()).value() == 4);
  CHECK(model.cached_prefix(text_of({1, 2, 4, 4, 5}).prompt()).value() == 2);
  CHECK(model.cached_prefix(text_of({2, 2, 3, 4, 5}).prompt()).value() == 0);
  CacheText other = text_of({1, 2, 3});
  other.keys.lora_id = 1;
  CHECK(model.cached_prefix(other.prompt()).value() == 0);
}

TEST_CASE("released blocks are evicted when none is free, the end of their sequence first") {
  BlockManagerModel model(small_cache());
  REQUIRE(model.release(computed(model, text_of({1, 2, 3, 4}))).is_ok());
  CHECK(model.available_blocks().value() == 4);
  CHECK(model.states().cached.value() == 4);
  const cache::Admission admitted = model.admit(text_of({5, 5, 5, 5, 5}).prompt()).value();
  CHECK(model.statistics().evicted == 1);
  CHECK(model.cached_prefix(text_of({1, 2, 3, 4, 5}).prompt()).value() == 2);
  CHECK(model.states().held_empty.value() == 6);
  CHECK(model.append(admitted.sequence, TokenCount(5)).is_ok());
  CHECK(model.states().used.value() == 5);
}

TEST_CASE("a refused admission changes nothing") {
  BlockManagerModel model(small_cache());
  computed(model, text_of({1, 2, 3, 4, 5}));
  CHECK(model.admit(text_of({9, 9, 9}).prompt()).status().code() == StatusCode::kExhausted);
  CHECK(model.available_blocks().value() == 1);
  CHECK(model.sequences().size() == 1);
  CHECK(model.admit(text_of({9, 9}).prompt()).is_ok());
}

TEST_CASE("a writer gets a copy of a shared block, and the last holder keeps the original") {
  BlockManagerModel model(small_cache());
  const cache::SequenceHandle parent = computed(model, text_of({1, 2, 3}));
  const cache::SequenceHandle child = model.fork(parent).value();
  CHECK(model.available_blocks().value() == 2);
  const std::vector<cache::BlockCopy> copies = model.append(std::vector{parent, child}).value();
  REQUIRE(copies.size() == 1);
  CHECK(copies[0].slots.value() == 1);
  CHECK(copies[0].source == model.at(child).device[0][1]);
  CHECK(copies[0].destination == model.at(parent).device[0][1]);
  CHECK(model.states().used.value() == 6);
}

TEST_CASE("a window gives back the blocks that no later row sees") {
  cache::CacheOptions options = small_cache();
  options.groups = {{.window = TokenCount(2)}};
  BlockManagerModel model(options);
  const cache::SequenceHandle name = computed(model, text_of({1, 2, 3, 4}));
  CHECK(model.states().used.value() == 1);
  CHECK(model.available_blocks().value() == 2);
  REQUIRE(model.append(name, TokenCount(1)).is_ok());
  CHECK(model.at(name).device[0][0] == cache::kNoBlock);
  CHECK(model.available_blocks().value() == 2);
  CHECK_FALSE(model.truncate(name, TokenCount(1)).is_ok());
  CHECK(model.truncate(name, TokenCount(3)).is_ok());
}

TEST_CASE("shared blocks go to the host once and come back shared") {
  BlockManagerModel model(small_cache());
  const cache::SequenceHandle parent = computed(model, text_of({1, 2, 3}));
  const cache::SequenceHandle child = model.fork(parent).value();
  const ModelTransfer out = model.swap_out(std::vector{parent, child}).value();
  CHECK(out.copies.size() == 2);
  CHECK(model.host_states().held_empty.value() == 4);
  CHECK(model.states().used.value() == 3);
  REQUIRE(model.complete(out.handle).is_ok());
  CHECK(model.host_states().used.value() == 3);
  CHECK(model.states().used.value() == 0);
  CHECK(model.states().cached.value() == 2);
  CHECK(model.swap_in(std::vector{parent, child}).value().copies.size() == 2);
}

TEST_CASE("with lookahead, each swapped-in sequence gets its own block at the end of its context") {
  BlockManagerModel model(small_cache());
  const cache::SequenceHandle parent = computed(model, text_of({1, 2, 3}));
  const cache::SequenceHandle child = model.fork(parent).value();
  REQUIRE(model.complete(model.swap_out(std::vector{parent, child}).value().handle).is_ok());
  CHECK(model.swap_in(std::vector{parent, child}, TokenCount(1)).value().copies.size() == 3);
}

TEST_CASE("a pinned prefix is not evicted") {
  BlockManagerModel model(small_cache());
  REQUIRE(model.release(computed(model, text_of({1, 2, 3, 4}))).is_ok());
  const cache::Pin pin = model.pin(text_of({1, 2, 3, 4}).prompt()).value();
  CHECK(pin.length.value() == 4);
  CHECK(model.available_blocks().value() == 2);
  CHECK(model.admit(text_of({5, 5, 5, 5, 5}).prompt()).status().code() == StatusCode::kExhausted);
  REQUIRE(model.unpin(pin.handle).is_ok());
  CHECK(model.admit(text_of({5, 5, 5, 5, 5}).prompt()).is_ok());
}

TEST_CASE("a prefix-cache reset forgets all prefixes, and running sequences publish none") {
  BlockManagerModel model(small_cache());
  const cache::SequenceHandle name = computed(model, text_of({1, 2, 3, 4}));
  model.reset_prefix_cache();
  CHECK(model.cached_prefix(text_of({1, 2, 3}).prompt()).value() == 0);
  REQUIRE(model.commit(name, text_of({1, 2, 3, 4}).prompt().tokens).is_ok());
  CHECK(model.cached_prefix(text_of({1, 2, 3}).prompt()).value() == 0);
  REQUIRE(model.release(name).is_ok());
  computed(model, text_of({1, 2, 3, 4}));
  CHECK(model.cached_prefix(text_of({1, 2, 3}).prompt()).value() == 2);
}

}  // namespace
}  // namespace recto::verify

// The model by itself: what one can check by hand.

#include "verify/models/block_manager_model.h"

#include "bazel/testing/catch.h"

namespace recto::verify {
namespace {

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

// Admitted, appended, committed.
SequenceName computed(BlockManagerModel& model, const CacheText& text) {
  const ModelAdmission admitted = model.admit(text, {}).value();
  REQUIRE(model.append(admitted.sequence, text.length() - admitted.hit).is_ok());
  REQUIRE(model.commit(admitted.sequence, text).is_ok());
  return admitted.sequence;
}

TEST_CASE("a prompt finds whole blocks of what was computed, and computes its last token") {
  BlockManagerModel model(small_cache());
  const SequenceName first = computed(model, text_of({1, 2, 3, 4}));
  CHECK(model.view(first).value().published.value() == 2);
  CHECK(model.cached_prefix(text_of({1, 2, 3, 4})) == 2);
  CHECK(model.cached_prefix(text_of({1, 2, 3, 4, 5})) == 4);
  CHECK(model.cached_prefix(text_of({1, 2, 4, 4, 5})) == 2);
  CHECK(model.cached_prefix(text_of({2, 2, 3, 4, 5})) == 0);
  CacheText other = text_of({1, 2, 3});
  other.keys.lora_id = 1;
  CHECK(model.cached_prefix(other) == 0);
}

TEST_CASE("what was released is evicted when there is nothing free, its end first") {
  BlockManagerModel model(small_cache());
  REQUIRE(model.release(computed(model, text_of({1, 2, 3, 4}))).is_ok());
  CHECK(model.available() == 4);
  CHECK(model.states().cached.value() == 4);
  const ModelAdmission admitted = model.admit(text_of({5, 5, 5, 5, 5}), {}).value();
  CHECK(model.statistics().evicted == 1);
  CHECK(model.cached_prefix(text_of({1, 2, 3, 4, 5})) == 2);
  CHECK(model.states().held_empty.value() == 6);
  CHECK(model.append(admitted.sequence, 5).is_ok());
  CHECK(model.states().used.value() == 5);
}

TEST_CASE("what can't be done changes nothing") {
  BlockManagerModel model(small_cache());
  computed(model, text_of({1, 2, 3, 4, 5}));
  CHECK(model.admit(text_of({9, 9, 9}), {}).status().code() == StatusCode::kExhausted);
  CHECK(model.available() == 1);
  CHECK(model.sequences().size() == 1);
  CHECK(model.admit(text_of({9, 9}), {}).is_ok());
}

TEST_CASE("a writer gets a block of its own, the last holder keeps the old one") {
  BlockManagerModel model(small_cache());
  const SequenceName parent = computed(model, text_of({1, 2, 3}));
  const SequenceName child = model.fork(parent).value();
  CHECK(model.available() == 2);
  const std::vector<ModelCopy> copies = model.append({parent, child}).value();
  REQUIRE(copies.size() == 1);
  CHECK(copies[0].slots == 1);
  CHECK(copies[0].source == model.sequences().at(child).device[0][1]);
  CHECK(copies[0].destination == model.sequences().at(parent).device[0][1]);
  CHECK(model.states().used.value() == 6);
}

TEST_CASE("a window gives back what no later row sees") {
  cache::CacheOptions options = small_cache();
  options.groups = {{.window = TokenCount(2)}};
  BlockManagerModel model(options);
  const SequenceName name = computed(model, text_of({1, 2, 3, 4}));
  CHECK(model.states().used.value() == 1);
  CHECK(model.available() == 2);
  REQUIRE(model.append(name, 1).is_ok());
  CHECK(model.sequences().at(name).device[0][0] == kGone);
  CHECK(model.available() == 2);
  CHECK_FALSE(model.truncate(name, 1).is_ok());
  CHECK(model.truncate(name, 3).is_ok());
}

TEST_CASE("shared blocks go to the host once and come back shared") {
  BlockManagerModel model(small_cache());
  const SequenceName parent = computed(model, text_of({1, 2, 3}));
  const SequenceName child = model.fork(parent).value();
  const ModelTransfer out = model.swap_out({parent, child}).value();
  CHECK(out.copies.size() == 2);
  CHECK(model.host_states().held_empty.value() == 4);
  CHECK(model.states().used.value() == 3);
  REQUIRE(model.complete(out.name).is_ok());
  CHECK(model.host_states().used.value() == 3);
  CHECK(model.states().used.value() == 0);
  CHECK(model.states().cached.value() == 2);
  CHECK(model.swap_in({parent, child}, 0).value().copies.size() == 2);
}

TEST_CASE("with lookahead each gets its own block where its context ends") {
  BlockManagerModel model(small_cache());
  const SequenceName parent = computed(model, text_of({1, 2, 3}));
  const SequenceName child = model.fork(parent).value();
  REQUIRE(model.complete(model.swap_out({parent, child}).value().name).is_ok());
  CHECK(model.swap_in({parent, child}, 1).value().copies.size() == 3);
}

TEST_CASE("a pinned prefix is not evicted") {
  BlockManagerModel model(small_cache());
  REQUIRE(model.release(computed(model, text_of({1, 2, 3, 4}))).is_ok());
  const ModelPin pin = model.pin(text_of({1, 2, 3, 4})).value();
  CHECK(pin.length == 4);
  CHECK(model.available() == 2);
  CHECK(model.admit(text_of({5, 5, 5, 5, 5}), {}).status().code() == StatusCode::kExhausted);
  REQUIRE(model.unpin(pin.name).is_ok());
  CHECK(model.admit(text_of({5, 5, 5, 5, 5}), {}).is_ok());
}

TEST_CASE("after a reset nothing is found, and who was there publishes nothing") {
  BlockManagerModel model(small_cache());
  const SequenceName name = computed(model, text_of({1, 2, 3, 4}));
  model.reset_prefix_cache();
  CHECK(model.cached_prefix(text_of({1, 2, 3})) == 0);
  REQUIRE(model.commit(name, text_of({1, 2, 3, 4})).is_ok());
  CHECK(model.cached_prefix(text_of({1, 2, 3})) == 0);
  REQUIRE(model.release(name).is_ok());
  computed(model, text_of({1, 2, 3, 4}));
  CHECK(model.cached_prefix(text_of({1, 2, 3})) == 2);
}

}  // namespace
}  // namespace recto::verify

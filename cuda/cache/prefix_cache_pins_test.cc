// Tests of pins, which protect prefixes from eviction.

#include "cuda/cache/prefix_cache.h"

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

Result<Pin> try_pin(CheckedManager& cache, const Ids& ids) {
  return cache.call([&](BlockManager& m) { return m.pin(prompt_of(ids)); });
}
Status unpin(CheckedManager& cache, PinHandle pin) {
  return cache.call([&](BlockManager& m) { return m.unpin(pin); });
}

TEST_CASE("a pinned prefix is not evicted, and is counted apart") {
  CheckedManager cache(small_options(4));
  cache.visit(ids_from(1, 8));
  const Pin pin = try_pin(cache, ids_from(1, 8)).value();
  CHECK(pin.length == TokenCount(8));  // also the last block: no last token to compute
  CHECK(cache.manager().states().pinned == TokenCount(8));
  CHECK(cache.manager().states().cached == TokenCount(8));
  CHECK(cache.available() == 2);
  CHECK_FALSE(cache.try_admit(prompt_of(ids_from(50, 12))).is_ok());
  cache.visit(ids_from(50, 8));
  CHECK(cache.hit(ids_from(1, 9)) == 8);
  CHECK(unpin(cache, pin.handle) == Status::ok());
  CHECK(cache.manager().states().pinned == TokenCount(0));
  cache.admit(ids_from(70, 16));
  CHECK(cache.hit(ids_from(1, 9)) == 0);
}

TEST_CASE("an unpinned prefix is evicted from its end, after content used earlier") {
  CheckedManager cache(small_options(4));
  cache.visit(ids_from(1, 8));
  const Pin pin = try_pin(cache, ids_from(1, 8)).value();
  cache.visit(ids_from(50, 8));
  CHECK(unpin(cache, pin.handle) == Status::ok());
  cache.admit(ids_from(70, 12));
  CHECK(cache.hit(ids_from(50, 9)) == 0);
  CHECK(cache.hit(ids_from(1, 9)) == 4);
}

TEST_CASE("a pin holds the longest cached prefix, and without one it is refused") {
  CheckedManager cache(small_options(8));
  cache.visit(ids_from(1, 8));
  CHECK(try_pin(cache, {1, 2, 3, 4, 5, 6, 7, 99, 9}).value().length == TokenCount(4));
  CHECK(try_pin(cache, ids_from(9, 8)).status() ==
        Status::invalid_input("pin: no block of these 8 tokens is cached"));
  CHECK(try_pin(cache, {}).status().code() == StatusCode::kInvalidInput);
}

TEST_CASE("held blocks can be pinned, and stay pinned when they are released") {
  CheckedManager cache(small_options(8));
  const SequenceHandle sequence = cache.computed(ids_from(1, 8));
  const Pin pin = try_pin(cache, ids_from(1, 8)).value();
  CHECK(cache.manager().states().pinned == TokenCount(0));  // held
  CHECK(cache.release(sequence) == Status::ok());
  CHECK(cache.manager().states().pinned == TokenCount(8));
  const SequenceHandle hit = cache.admit(ids_from(1, 9));
  CHECK(cache.manager().states().pinned == TokenCount(0));
  CHECK(unpin(cache, pin.handle) == Status::ok());
  CHECK(cache.release(hit) == Status::ok());
  CHECK(cache.manager().states().cached == TokenCount(8));
}

TEST_CASE("a hit on pinned blocks takes no available block") {
  CheckedManager cache(small_options(4));
  cache.visit(ids_from(1, 8));
  CHECK(try_pin(cache, ids_from(1, 8)).is_ok());
  CHECK(cache.try_admit(prompt_of(ids_from(1, 16))).is_ok());
  CHECK(cache.available() == 0);
}

TEST_CASE("two pins of one prefix hold it until both are gone") {
  CheckedManager cache(small_options(4));
  cache.visit(ids_from(1, 8));
  const Pin longer = try_pin(cache, ids_from(1, 8)).value();
  const Pin shorter = try_pin(cache, ids_from(1, 4)).value();
  CHECK(unpin(cache, longer.handle) == Status::ok());
  CHECK(cache.manager().states().pinned == TokenCount(4));
  CHECK(unpin(cache, longer.handle) ==
        Status::invalid_input(
            "unpin: pin 0 (generation 1) is unknown: unpinned before, or dropped by a reset"));
  for (const std::int32_t index : {-1, 1 << 30}) {
    CHECK(unpin(cache, {.index = index, .generation = 1}).code() == StatusCode::kInvalidInput);
  }
  CHECK(unpin(cache, shorter.handle) == Status::ok());
  CHECK(cache.manager().states().pinned == TokenCount(0));
}

TEST_CASE("pinned content that gets a block only later is pinned there") {
  CheckedManager cache(small_options(8));
  const SequenceHandle first = cache.computed(ids_from(1, 8));
  const Pin pin = try_pin(cache, ids_from(1, 4)).value();
  CHECK(cache.truncate(first, 4) == Status::ok());
  const SequenceHandle again = cache.computed(ids_from(1, 8));
  CHECK(cache.release(first) == Status::ok());
  CHECK(cache.release(again) == Status::ok());
  CHECK(cache.manager().states().pinned == TokenCount(4));
  CHECK(unpin(cache, pin.handle) == Status::ok());
}

TEST_CASE("pins are bounded, and dropped by a reset") {
  CacheOptions options = small_options(8);
  options.prefix.max_pins = 1;
  CheckedManager cache(options);
  cache.visit(ids_from(1, 8));
  const Pin pin = try_pin(cache, ids_from(1, 8)).value();
  CHECK(try_pin(cache, ids_from(1, 8)).status() == Status::exhausted("pin: all 1 pins are in use"));
  cache.reset();
  CHECK(cache.manager().states().free == TokenCount(32));
  CHECK(unpin(cache, pin.handle).code() == StatusCode::kInvalidInput);
  cache.visit(ids_from(1, 8));
  CHECK(try_pin(cache, ids_from(1, 8)).is_ok());
  CHECK(unpin(cache, pin.handle).code() == StatusCode::kInvalidInput);
}

}  // namespace
}  // namespace recto::cache

#include "cuda/cache/slot_mapping.h"

#include <limits>
#include <span>
#include <vector>

#include "bazel/testing/catch.h"
#include "cuda/cache/testing/checked_manager.h"

namespace recto::cache {
namespace {

using testing::CheckedManager;
using testing::Ids;
using testing::ids_from;
using testing::small_options;

using Slots = std::vector<std::int64_t>;

TEST_CASE("tokens map to the slots of their blocks, and unused entries to -1") {
  CheckedManager cache(small_options(8));
  const SequenceHandle a = cache.admit(ids_from(1, 6));
  const SequenceHandle b = cache.admit(ids_from(11, 2));
  cache.append(a, 6);
  cache.append(b, 2);
  Slots slots(8, 77);
  const std::vector<TokenRange> step = {{.sequence = a, .first = 2, .count = 4},
                                        {.sequence = b, .first = 1, .count = 1}};
  CHECK(write_slot_mapping(cache.manager(), 0, step, slots) == Status::ok());
  const std::int64_t b_block = cache.table(b)[0];
  CHECK(slots == Slots{2, 3, 4, 5, 4 * b_block + 1, -1, -1, -1});
  const std::vector<TokenRange> idle = {{.sequence = a, .first = 6, .count = 0}};
  CHECK(write_slot_mapping(cache.manager(), 0, idle, slots) == Status::ok());
  CHECK(slots == Slots(8, -1));
}

TEST_CASE("no sequence gets slots to write in a block that others read") {
  CheckedManager cache(small_options(8));
  const SequenceHandle a = cache.admit(ids_from(1, 6));
  cache.append(a, 6);
  const SequenceHandle b = cache.fork(a);
  Slots slots(4, 77);
  const auto map = [&](SequenceHandle sequence, std::int64_t first, std::int64_t count) {
    const std::vector<TokenRange> step = {{.sequence = sequence, .first = first, .count = count}};
    return write_slot_mapping(cache.manager(), 0, step, slots);
  };
  CHECK(map(b, 5, 1) ==
        Status::invalid_input(
            "slot mapping: sequence 1 (generation 1): token 5 is in a block that is shared"));
  CHECK(slots == Slots(4, 77));
  cache.append({b});
  CHECK(map(b, 6, 1) == Status::ok());
  CHECK(cache.commit(b, ids_from(1, 7)) == Status::ok());
  CHECK(map(b, 3, 1).code() == StatusCode::kInvalidInput);  // its block can be found by now
}

TEST_CASE("tokens without a slot are refused by name, and nothing is written") {
  CacheOptions options = small_options(8);
  options.groups = {LayerGroup{.num_layers = 1, .window = TokenCount(2)}};
  CheckedManager cache(options);
  const SequenceHandle sequence = cache.admit(Ids{1});
  cache.append(sequence, 8);
  cache.append({sequence});
  // The memory is longer than the span of slots, so that writes past the span are noticed.
  Slots memory(8, 77);
  const auto slots = std::span(memory).first(4);
  const auto map = [&](std::int64_t first, std::int64_t count, std::int32_t group = 0) {
    const std::vector<TokenRange> step = {{.sequence = sequence, .first = 8, .count = 1},
                                          {.sequence = sequence, .first = first, .count = count}};
    return write_slot_mapping(cache.manager(), group, step, slots);
  };
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  CHECK(map(3, 1) ==
        Status::invalid_input(
            "slot mapping: sequence 0 (generation 1): token 3 is in a block that was given back"));
  CHECK(map(11, 2) == Status::invalid_input("slot mapping: sequence 0 (generation 1): 2 tokens "
                                            "from 11 on; expected a range within its 12 slots"));
  for (const std::int64_t first : {std::int64_t{-1}, kMost, -kMost - 1}) {
    CHECK(map(first, 1).code() == StatusCode::kInvalidInput);
  }
  CHECK(map(8, kMost).code() == StatusCode::kInvalidInput);
  CHECK(map(8, -1).code() == StatusCode::kInvalidInput);
  CHECK(map(8, 4) == Status::invalid_input("slot mapping: 4 slots; expected one for each token"));
  CHECK(map(8, 1, 1) == Status::invalid_input("slot mapping: group 1; expected 0 to 0"));
  CHECK(memory == Slots(8, 77));
  CHECK(map(9, 3) == Status::ok());
  CHECK(cache.release(sequence) == Status::ok());
  CHECK(map(8, 1).code() == StatusCode::kInvalidInput);
}

}  // namespace
}  // namespace recto::cache

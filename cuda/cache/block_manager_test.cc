#include "cuda/cache/block_manager.h"

#include <limits>
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

TEST_CASE("the tail of a sequence is evicted before its start") {
  CheckedManager cache(small_options(4));
  cache.visit(ids_from(1, 12));
  const SequenceHandle other = cache.admit(ids_from(50, 8));  // the free block and a cached one
  CHECK(cache.hit(ids_from(1, 13)) == 8);
  CHECK(cache.release(other) == Status::ok());
}

TEST_CASE("the less recently used of two sequences is evicted") {
  CheckedManager cache(small_options(4));
  cache.visit(ids_from(1, 8));
  cache.visit(ids_from(101, 8));
  cache.visit(ids_from(1, 8));
  cache.visit(ids_from(201, 8));
  CHECK(cache.hit(ids_from(1, 9)) == 8);
  CHECK(cache.hit(ids_from(101, 9)) == 0);
}

TEST_CASE("truncation frees the blocks beyond the length, lookahead included") {
  CheckedManager cache(small_options(8));
  const SequenceHandle sequence = cache.admit(Ids{1});
  cache.append(sequence, 10);
  cache.reserve(sequence, 20);
  REQUIRE(cache.table(sequence).size() == 5);
  CHECK(cache.truncate(sequence, 10) == Status::ok());
  CHECK(cache.table(sequence).size() == 3);
  CHECK(cache.truncate(sequence, 5) == Status::ok());
  CHECK(cache.table(sequence).size() == 2);
  CHECK(cache.truncate(sequence, 4) == Status::ok());
  CHECK(cache.table(sequence).size() == 1);
  CHECK(cache.truncate(sequence, 0) == Status::ok());
  CHECK(cache.table(sequence).empty());
  CHECK(cache.available() == 8);
}

TEST_CASE("lengths beyond the context, and below 0, are refused") {
  CheckedManager cache(small_options(8));
  const SequenceHandle sequence = cache.admit(ids_from(1, 9));
  cache.append(sequence, 6);
  CHECK(cache.truncate(sequence, 7) ==
        Status::invalid_input("truncate: length 7; expected 0 to the context length, 6"));
  CHECK(cache.truncate(sequence, -1).code() == StatusCode::kInvalidInput);
  CHECK(cache.truncate(sequence, std::numeric_limits<std::int64_t>::max()).code() ==
        StatusCode::kInvalidInput);
  CHECK(cache.truncate(sequence, std::numeric_limits<std::int64_t>::min()).code() ==
        StatusCode::kInvalidInput);
  CHECK(cache.truncate(sequence, 6) == Status::ok());
}

TEST_CASE("a sequence truncated below its published blocks continues with other tokens") {
  CheckedManager cache(small_options(16));
  const SequenceHandle sequence = cache.computed(ids_from(1, 12));
  CHECK(cache.truncate(sequence, 5) == Status::ok());
  CHECK(cache.view(sequence).published == BlockCount(1));
  cache.append(sequence, 7);
  const Ids other = {1, 2, 3, 4, 5, 90, 91, 92, 93, 94, 95, 96};
  CHECK(cache.commit(sequence, other) == Status::ok());
  Ids longer = other;
  longer.push_back(0);
  CHECK(cache.hit(longer) == 12);
  CHECK(cache.hit(ids_from(1, 13)) == 4);  // its second block was overwritten
}

TEST_CASE("truncation to a length whose window needs freed blocks is refused") {
  CacheOptions options = small_options(8);
  options.groups = {LayerGroup{}, LayerGroup{.num_layers = 1, .window = TokenCount(4)}};
  options.num_blocks = BlockCount(16);
  CheckedManager cache(options);
  const SequenceHandle sequence = cache.admit(Ids{1});
  cache.append(sequence, 8);
  CHECK(cache.truncate(sequence, 8) == Status::ok());
  cache.append(sequence, 3);  // from 8 on, the first block is outside the window
  CHECK(cache.truncate(sequence, 6) ==
        Status::invalid_input("truncate: length 6: its next row sees tokens from 3 on in group 1, "
                              "which has freed the tokens before 4"));
  CHECK(cache.truncate(sequence, 7) == Status::ok());
  CHECK(cache.truncate(sequence, 0) == Status::ok());  // a row at 0 sees nothing
}

TEST_CASE("truncation under a window of one needs only the next token's block") {
  CacheOptions options = small_options(8);
  options.groups = {LayerGroup{.num_layers = 1, .window = TokenCount(1)}};
  CheckedManager cache(options);
  const SequenceHandle sequence = cache.admit(Ids{1});
  cache.append(sequence, 8);
  cache.append(sequence, 1);
  CHECK(cache.truncate(sequence, 7).code() == StatusCode::kInvalidInput);
  CHECK(cache.truncate(sequence, 8) == Status::ok());
  CHECK(cache.truncate(sequence, 4) == Status::ok());
  cache.append(sequence, 1);
  CHECK(cache.table(sequence).size() == 2);
}

TEST_CASE("a released handle is refused, and its index is used again") {
  CheckedManager cache(small_options(8));
  const SequenceHandle first = cache.computed(ids_from(1, 8));
  CHECK(cache.release(first) == Status::ok());
  CHECK(cache.release(first) ==
        Status::invalid_input("release: sequence 0 (generation 1) was released"));
  const SequenceHandle second = cache.admit(ids_from(1, 9));
  CHECK(second.index == first.index);
  CHECK(cache.truncate(first, 0).code() == StatusCode::kInvalidInput);
  CHECK(cache.commit(first, ids_from(1, 8)).code() == StatusCode::kInvalidInput);
  CHECK(cache.manager().view(first).status().code() == StatusCode::kInvalidInput);
  CHECK(cache.manager().block_table(first, 0).status().code() == StatusCode::kInvalidInput);
  CHECK(cache.manager().block_table(second, 1).status() ==
        Status::invalid_input("block table: group 1; expected 0 to 0"));
}

TEST_CASE("a preempted sequence holds no block, and finds its cached blocks when it resumes") {
  CheckedManager cache(small_options(8));
  const SequenceHandle sequence = cache.computed(ids_from(1, 10));
  CHECK(cache.resume(sequence, ids_from(1, 10)).status() ==
        Status::invalid_input("resume: sequence 0 (generation 1) is running; expected preempted"));
  CHECK(cache.preempt(sequence) == Status::ok());
  CHECK(cache.preempt(sequence) ==
        Status::invalid_input("preempt: sequence 0 (generation 1) is preempted"));
  CHECK(cache.available() == 8);
  CHECK(cache.view(sequence).state == SequenceState::kPreempted);
  CHECK(cache.view(sequence).context_length == TokenCount(0));
  const SequenceHandle other = cache.admit(ids_from(50, 28));
  CHECK(cache.resume(sequence, ids_from(1, 10)).status().code() == StatusCode::kExhausted);
  CHECK(cache.release(other) == Status::ok());
  CHECK(cache.resume(sequence, ids_from(1, 10)).value() == TokenCount(4));
  CHECK(cache.view(sequence).state == SequenceState::kRunning);
}

TEST_CASE("a reset forgets all content, and sequences computed before it publish no more") {
  CheckedManager cache(small_options(16));
  cache.visit(ids_from(101, 8));
  const SequenceHandle sequence = cache.computed(ids_from(1, 8));
  cache.reset();
  CHECK(cache.hit(ids_from(1, 9)) == 0);
  CHECK(cache.hit(ids_from(101, 9)) == 0);
  CHECK(cache.manager().states().cached == TokenCount(0));
  CHECK(cache.manager().statistics().cleared == 4);
  cache.append(sequence, 4);
  CHECK(cache.commit(sequence, ids_from(1, 12)) == Status::ok());
  CHECK(cache.view(sequence).published == BlockCount(0));
  const SequenceHandle child = cache.fork(sequence);
  CHECK(cache.commit(child, ids_from(1, 12)) == Status::ok());
  CHECK(cache.hit(ids_from(1, 13)) == 0);
  // After a reset, recomputed content belongs to the new weights.
  CHECK(cache.preempt(sequence) == Status::ok());
  CHECK(cache.resume(sequence, ids_from(1, 12)).is_ok());
  cache.append(sequence, 12);
  CHECK(cache.commit(sequence, ids_from(1, 12)) == Status::ok());
  CHECK(cache.hit(ids_from(1, 13)) == 12);
}

}  // namespace
}  // namespace recto::cache

#include <vector>

#include "bazel/testing/catch.h"
#include "cuda/cache/testing/checked_manager.h"

namespace recto::cache {
namespace {

using testing::CheckedManager;
using testing::Ids;
using testing::ids_from;
using testing::small_options;

using Handles = std::vector<SequenceHandle>;

Handles beam_step(CheckedManager& cache, const Handles& parents,
                  const std::vector<std::int32_t>& parent_of) {
  const auto beams =
      cache.call([&](BlockManager& m) { return m.beam_step(parents, parent_of); }).value();
  return {beams.begin(), beams.end()};
}

TEST_CASE("a child has its parent's blocks, and what it publishes is found once") {
  CheckedManager cache(small_options(8));
  const SequenceHandle parent = cache.admit(ids_from(1, 8));
  cache.append(parent, 6);
  const SequenceHandle child = cache.fork(parent);
  CHECK(cache.table(child) == cache.table(parent));
  CHECK(cache.view(child).context_length == TokenCount(6));
  CHECK(cache.manager().states().used == TokenCount(6));
  CHECK(cache.commit(child, ids_from(1, 6)) == Status::ok());
  CHECK(cache.commit(parent, ids_from(1, 6)) == Status::ok());
  CHECK(cache.manager().statistics().stored == 1);
  CHECK(cache.manager().statistics().duplicates == 0);
}

TEST_CASE("lookahead stays with the parent") {
  CheckedManager cache(small_options(8));
  const SequenceHandle parent = cache.admit(Ids{1});
  cache.append(parent, 6);
  cache.reserve(parent, 16);
  const SequenceHandle child = cache.fork(parent);
  CHECK(cache.table(child).size() == 2);
  CHECK(cache.table(parent).size() == 4);
  CHECK(cache.append({child, parent}).size() == 1);
  CHECK(cache.table(parent).size() == 4);
}

TEST_CASE("a sequence without tokens has a child without blocks") {
  CheckedManager cache(small_options(8));
  const SequenceHandle parent = cache.admit(Ids{1});
  const SequenceHandle child = cache.fork(parent);
  CHECK(cache.table(child).empty());
  cache.append(child, 1);
  CHECK(cache.table(child) != cache.table(parent));
}

TEST_CASE("a fork needs a free sequence, and no block") {
  CheckedManager cache(small_options(1));
  const SequenceHandle parent = cache.admit(Ids{1});
  cache.append(parent, 3);
  for (int i = 0; i < 5; ++i) cache.fork(parent);
  CHECK(cache.call([&](BlockManager& m) { return m.fork(parent); }).status() ==
        Status::exhausted("fork: needs 1 new sequences and gives 0 back; 0 of 6 are free"));
}

TEST_CASE("a parent may be released before its children") {
  CheckedManager cache(small_options(8));
  const SequenceHandle parent = cache.computed(ids_from(1, 8));
  const SequenceHandle child = cache.fork(parent);
  const SequenceHandle grandchild = cache.fork(child);
  CHECK(cache.release(parent) == Status::ok());
  CHECK(cache.release(child) == Status::ok());
  CHECK(cache.manager().states().used == TokenCount(8));
  CHECK(cache.release(grandchild) == Status::ok());
  CHECK(cache.manager().states().cached == TokenCount(8));
}

TEST_CASE("the first child of a beam takes over its handle, and the others share its blocks") {
  CheckedManager cache(small_options(8));
  const SequenceHandle a = cache.admit(ids_from(1, 6));
  cache.append(a, 6);
  const Handles first = beam_step(cache, {a}, {0, 0, 0});
  CHECK(first[0] == a);
  CHECK(first[1] != a);
  CHECK(cache.append(first).size() == 2);
  const std::vector<std::int32_t> kept = cache.table(first[1]);
  const Handles second = beam_step(cache, first, {1, 1, 2});
  CHECK(second[0] == first[1]);
  CHECK(second[2] == first[2]);
  CHECK(cache.table(second[0]) == kept);
  CHECK(cache.table(second[1]) == kept);
  CHECK(cache.manager().view(first[0]).status().code() == StatusCode::kInvalidInput);
  CHECK(cache.manager().num_sequences() == 3);
}

TEST_CASE("all beams may continue one parent, and the other parents are released") {
  CheckedManager cache(small_options(16));
  Handles beams;
  for (TokenId i = 0; i < 6; ++i) {
    beams.push_back(cache.admit(ids_from(10 * i, 5)));
    cache.append(beams.back(), 5);
  }
  beams = beam_step(cache, beams, {3, 3, 3, 3, 3, 3});
  CHECK(cache.manager().num_sequences() == 6);
  CHECK(cache.manager().states().used == TokenCount(5));
  CHECK(cache.available() == 14);
}

TEST_CASE("the beams that a step returns may be passed to the next step") {
  CheckedManager cache(small_options(16));
  const SequenceHandle a = cache.admit(ids_from(1, 6));
  cache.append(a, 6);
  const Handles start = {a};
  const std::vector<std::int32_t> two = {0, 0};
  const std::vector<std::int32_t> swapped = {1, 0, 0};
  std::span<const SequenceHandle> beams = cache.manager().beam_step(start, two).value();
  const Handles before(beams.begin(), beams.end());
  beams = cache.manager().beam_step(beams, swapped).value();
  CHECK(beams[0] == before[1]);
  CHECK(beams[1] == before[0]);
  CHECK(beams[2] != before[0]);
  CHECK(testing::check_invariants(cache.manager()) == Status::ok());
}

TEST_CASE("a beam step without children releases all beams") {
  CheckedManager cache(small_options(16));
  const SequenceHandle a = cache.admit(ids_from(1, 6));
  CHECK(beam_step(cache, {a}, {}).empty());
  CHECK(cache.manager().num_sequences() == 0);
  CHECK(beam_step(cache, {}, {}).empty());
}

TEST_CASE("invalid beams are refused by name, and no sequence is released") {
  CheckedManager cache(small_options(16));
  const SequenceHandle a = cache.admit(ids_from(1, 6));
  const SequenceHandle b = cache.admit(ids_from(1, 6));
  const auto refusal = [&](const Handles& parents, const std::vector<std::int32_t>& parent_of) {
    return cache.call([&](BlockManager& m) { return m.beam_step(parents, parent_of); }).status();
  };
  CHECK(refusal({a, b}, {0, 2}) ==
        Status::invalid_input("beam step: beam 1 continues parent 2; expected one of the 2"));
  CHECK(refusal({a, b}, {-1}).code() == StatusCode::kInvalidInput);
  CHECK(refusal({a, b, a}, {0}) ==
        Status::invalid_input(
            "beam step: sequence 0 (generation 1) is listed twice among the parents"));
  CHECK(refusal({a, b}, {0, 0, 0, 0, 0, 0, 0}) ==
        Status::exhausted("beam step: needs 6 new sequences and gives 1 back; 4 of 6 are free"));
  CHECK(refusal({a, b}, {0, 0, 0, 0, 0, 0}) == Status::ok());
}

}  // namespace
}  // namespace recto::cache

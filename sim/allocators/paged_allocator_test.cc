#include "sim/allocators/paged_allocator.h"

#include <vector>

#include "bazel/testing/catch.h"

namespace recto::sim {
namespace {

constexpr SequenceId kFirst(0);
constexpr SequenceId kSecond(1);

Request request_of(std::int64_t prompt, std::int64_t output) {
  return {.prompt_tokens = TokenCount(prompt), .output_tokens = TokenCount(output)};
}

// Two sequences of one request, over `blocks` blocks of 4.
struct Pool {
  explicit Pool(std::int64_t blocks) : allocator({TokenCount(4 * blocks), TokenCount(4)}) {
    allocator.open(kFirst, {&request, 0});
    allocator.open(kSecond, {&request, 1});
  }

  Request request = request_of(6, 4);
  PagedAllocator allocator;
};

std::vector<std::int32_t> ids(std::span<const BlockId> table) {
  std::vector<std::int32_t> ids;
  for (const BlockId block : table) ids.push_back(block.value());
  return ids;
}

TEST_CASE("a remainder of the pool and null blocks are overhead, and never given out") {
  const PagedAllocator allocator({TokenCount(19), TokenCount(4), BlockCount(1)});
  CHECK(allocator.counts().overhead == TokenCount(3 + 4));
  CHECK(allocator.counts().free == TokenCount(12));
  CHECK(allocator.can_ever_hold(request_of(12, 1), TokenCount(0)));
  CHECK_FALSE(allocator.can_ever_hold(request_of(12, 2), TokenCount(0)));
  CHECK_FALSE(allocator.can_ever_hold(request_of(12, 1), TokenCount(1)));
}

TEST_CASE("a growth that does not fit changes nothing") {
  Pool pool(2);
  REQUIRE(pool.allocator.grow(kFirst, TokenCount(0), TokenCount(4)));
  CHECK_FALSE(pool.allocator.grow(kSecond, TokenCount(0), TokenCount(8)));
  CHECK(pool.allocator.block_table(kSecond).empty());
  CHECK(pool.allocator.counts().free == TokenCount(4));
}

TEST_CASE("a shared last block is copied by the first writer, and kept by the last") {
  Pool pool(4);
  pool.allocator.grow(kFirst, TokenCount(0), TokenCount(6));
  pool.allocator.share(kFirst, kSecond, TokenCount(6));
  CHECK(ids(pool.allocator.block_table(kSecond)) == std::vector<std::int32_t>{0, 1});
  CHECK(pool.allocator.sharers(BlockId(1)) == 1);

  const auto copy = pool.allocator.grow(kSecond, TokenCount(6), TokenCount(7));
  CHECK(copy->copied == TokenCount(4));
  CHECK(copy->copied_context == TokenCount(2));
  CHECK(ids(pool.allocator.block_table(kSecond)) == std::vector<std::int32_t>{0, 2});
  const auto in_place = pool.allocator.grow(kFirst, TokenCount(6), TokenCount(7));
  CHECK(in_place->copied == TokenCount(0));
  CHECK(pool.allocator.sharers(BlockId(0)) == 1);
}

TEST_CASE("a copy that finds no block changes nothing") {
  Pool pool(2);
  pool.allocator.grow(kFirst, TokenCount(0), TokenCount(6));
  pool.allocator.share(kFirst, kSecond, TokenCount(6));
  CHECK_FALSE(pool.allocator.grow(kSecond, TokenCount(6), TokenCount(7)));
  CHECK(pool.allocator.sharers(BlockId(1)) == 1);
}

TEST_CASE("a release reports the tokens that sharers keep, and those in an open block") {
  Pool pool(4);
  pool.allocator.grow(kFirst, TokenCount(0), TokenCount(6));
  pool.allocator.share(kFirst, kSecond, TokenCount(6));
  const Release release = pool.allocator.release(kFirst, TokenCount(6));
  CHECK(release.held == TokenCount(8));
  CHECK(release.kept == TokenCount(6));
  CHECK(release.kept_open == TokenCount(2));
  CHECK(pool.allocator.release(kSecond, TokenCount(6)).kept == TokenCount(0));
  CHECK(pool.allocator.counts().free == TokenCount(16));
}

TEST_CASE("a swapped set is restored with its sharing, and only if `spare` tokens stay free") {
  Pool pool(4);
  const std::vector<SequenceId> both = {kFirst, kSecond};
  pool.allocator.grow(kFirst, TokenCount(0), TokenCount(6));
  pool.allocator.share(kFirst, kSecond, TokenCount(6));
  pool.allocator.grow(kSecond, TokenCount(6), TokenCount(7));
  const TableShape shape = pool.allocator.shape(both, TokenCount(6));
  CHECK(shape.slots == TokenCount(12));
  for (const SequenceId sequence : both) pool.allocator.release(sequence, TokenCount(6));

  CHECK_FALSE(pool.allocator.restore(both, shape, TokenCount(5)));
  CHECK(pool.allocator.counts().free == TokenCount(16));
  REQUIRE(pool.allocator.restore(both, shape, TokenCount(4)));
  const auto first = pool.allocator.block_table(kFirst);
  const auto second = pool.allocator.block_table(kSecond);
  CHECK(first[0] == second[0]);
  CHECK(first[1] != second[1]);
  CHECK(pool.allocator.counts().table_entries == 4);
  CHECK(pool.allocator.counts().held_blocks == 3);
}

TEST_CASE("a sequence that holds blocks is not closed") {
  Pool pool(2);
  pool.allocator.grow(kFirst, TokenCount(0), TokenCount(1));
  CHECK_THROWS_AS(pool.allocator.close(kFirst), ContractFailure);
}

}  // namespace
}  // namespace recto::sim

#include "sim/traces/prefix_reuse.h"

#include <algorithm>
#include <list>
#include <memory>
#include <utility>
#include <vector>

#include "bazel/testing/catch.h"
#include "core/random_stream.h"

namespace recto::sim {
namespace {

TEST_CASE("the least recently touched key is evicted") {
  LruSet set(2);
  set.touch(1);
  set.touch(2);
  set.touch(1);
  set.touch(3);
  CHECK(set.contains(1));
  CHECK_FALSE(set.contains(2));
  CHECK(set.contains(3));
  CHECK(set.size() == 2);
}

TEST_CASE("a set of capacity 0 holds no key") {
  LruSet set(0);
  set.touch(1);
  CHECK_FALSE(set.contains(1));
}

TEST_CASE("after any touches a set holds the keys that a list by age holds") {
  RandomStream random(7);
  for (const std::size_t capacity : {1, 2, 3, 10, 60}) {
    LruSet set(capacity);
    std::list<std::uint64_t> newest_first;
    for (int step = 0; step < 2000; ++step) {
      const std::uint64_t key = random.next_below(50);
      set.touch(key);
      newest_first.remove(key);
      newest_first.push_front(key);
      if (newest_first.size() > capacity) newest_first.pop_back();
      REQUIRE(set.size() == newest_first.size());
      for (std::uint64_t k = 0; k < 50; ++k) {
        const bool expected =
            std::find(newest_first.begin(), newest_first.end(), k) != newest_first.end();
        if (set.contains(k) != expected) FAIL("key " << k << " after step " << step);
      }
    }
  }
}

Request with_runs(std::vector<ContentRun> runs) {
  auto content = std::make_shared<TokenContent>();
  Request request;
  for (const ContentRun& run : runs) request.prompt_tokens += run.length;
  content->prompt_runs = std::move(runs);
  request.content = std::move(content);
  return request;
}

Request with_ids(std::vector<std::int32_t> ids) {
  auto content = std::make_shared<TokenContent>();
  Request request;
  request.prompt_tokens = TokenCount(static_cast<std::int64_t>(ids.size()));
  content->prompt_token_ids = std::move(ids);
  request.content = std::move(content);
  return request;
}

PrefixReuseFigures figures_of(const std::vector<Request>& requests, std::int64_t block_tokens,
                              std::vector<TokenCount> lru_capacities = {}) {
  PrefixReuse reuse(
      {.block_tokens = TokenCount(block_tokens), .lru_capacities = std::move(lru_capacities)});
  for (const Request& request : requests) reuse.add(request);
  return reuse.figures();
}

ContentRun run(std::uint64_t id, std::int64_t length) { return {id, TokenCount(length)}; }

TEST_CASE("the match stops at the first miss") {
  const auto figures = figures_of(
      {with_runs({run(1, 4), run(2, 4), run(3, 4)}), with_runs({run(1, 4), run(9, 4), run(3, 4)})},
      4);
  CHECK(figures.blocks == 6);
  CHECK(figures.hit_blocks == 1);
  CHECK(figures.hit_tokens == TokenCount(4));
  CHECK(figures.hit_block_share() == Catch::Approx(1.0 / 6));
  // The last block has a different prefix, so it is a different block.
  CHECK(figures.distinct_blocks == 5);
}

TEST_CASE("hits in partial blocks count, and hits in full blocks are counted apart as well") {
  const auto figures =
      figures_of({with_runs({run(1, 4), run(2, 3)}), with_runs({run(1, 4), run(2, 3)})}, 4);
  CHECK(figures.hit_blocks == 2);
  CHECK(figures.hit_tokens == TokenCount(7));
  CHECK(figures.full_hit_blocks == 1);
  CHECK(figures.full_hit_tokens == TokenCount(4));
  CHECK(figures.full_blocks == 2);
  CHECK(figures.full_hit_token_share() == Catch::Approx(4.0 / 14));
}

TEST_CASE("a partial block differs from a longer block of the same run") {
  const auto figures = figures_of({with_runs({run(1, 3)}), with_runs({run(1, 4)})}, 4);
  CHECK(figures.hit_blocks == 0);
}

TEST_CASE("long runs are taken apart into blocks") {
  const auto figures = figures_of({with_runs({run(1, 10)}), with_runs({run(1, 9)})}, 4);
  CHECK(figures.blocks == 6);
  CHECK(figures.full_hit_blocks == 2);
}

TEST_CASE("token ids share full blocks of equal prefixes only") {
  const auto figures = figures_of({with_ids({1, 2, 3, 4, 5}), with_ids({1, 2, 3, 4, 6, 7}),
                                   with_ids({9, 2, 3, 4}), with_ids({3, 4, 1, 2})},
                                  2);
  CHECK(figures.blocks == 9);
  CHECK(figures.hit_blocks == 2);
  CHECK(figures.prompt_tokens == TokenCount(19));
}

TEST_CASE("a bounded cache forgets the tail of the oldest prompt first") {
  const std::vector<Request> requests = {with_runs({run(1, 4), run(2, 4), run(3, 4)}),
                                         with_runs({run(7, 4)}),
                                         with_runs({run(1, 4), run(2, 4), run(3, 4)})};
  const auto figures = figures_of(
      requests, 4, {TokenCount(16), TokenCount(15), TokenCount(8), TokenCount(3), TokenCount(0)});
  std::vector<std::int64_t> hits;
  for (const LruFigures& lru : figures.lru) hits.push_back(lru.hit_blocks);
  // Room for 4, 3, 2, 0 and 0 blocks.
  CHECK(hits == std::vector<std::int64_t>{3, 2, 1, 0, 0});
  CHECK(figures.lru_hit_block_share(0) == Catch::Approx(3.0 / 7));
}

TEST_CASE("hits of a bounded cache count the tokens of partial blocks, not whole blocks") {
  // Blocks of 4, 2 and 3 tokens.
  const std::vector<Request> requests(2, with_runs({run(1, 6), run(2, 3)}));
  const auto figures = figures_of(requests, 4, {TokenCount(100), TokenCount(8), TokenCount(0)});
  CHECK(figures.lru[0].hit_tokens == TokenCount(9));
  CHECK(figures.lru[0].hit_tokens == figures.hit_tokens);
  CHECK(figures.lru[1].hit_blocks == 2);
  CHECK(figures.lru[1].hit_tokens == TokenCount(6));
  CHECK(figures.lru[2].hit_tokens == TokenCount(0));
  CHECK(figures.lru_hit_token_share(1) == Catch::Approx(6.0 / 18));
}

TEST_CASE("requests without content take no part") {
  const auto figures = figures_of({Request{}}, 4);
  CHECK(figures.requests == 0);
  CHECK(figures.hit_block_share() == 0.0);
}

}  // namespace
}  // namespace recto::sim

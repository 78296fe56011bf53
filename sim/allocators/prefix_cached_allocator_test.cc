#include "sim/allocators/prefix_cached_allocator.h"

#include <algorithm>
#include <list>
#include <memory>
#include <set>
#include <vector>

#include "bazel/testing/property.h"

namespace recto::sim {
namespace {

using Tokens = std::vector<std::int32_t>;

Request request_of(const Tokens& prompt) {
  return {
      .prompt_tokens = TokenCount(static_cast<std::int64_t>(prompt.size())),
      .output_tokens = TokenCount(1),
      .content = std::make_shared<const TokenContent>(TokenContent{.prompt_token_ids = prompt})};
}

// Runs one sequence after the other in a pool of blocks of 2: admits, computes the prompt,
// releases.
class Visits {
 public:
  explicit Visits(std::int64_t blocks) : allocator_({TokenCount(2 * blocks), TokenCount(2)}) {}

  // Tokens found cached; -1 if there was no room.
  std::int64_t visit(const Tokens& prompt) {
    const Request request = request_of(prompt);
    const SequenceId sequence(0);
    allocator_.open(sequence, {&request, 0});
    const auto growth = allocator_.admit(std::vector{sequence}, request.prompt_tokens);
    if (growth) {
      allocator_.commit(sequence, request.prompt_tokens);
      allocator_.release(sequence, request.prompt_tokens);
    }
    allocator_.close(sequence);
    return growth ? growth->hit.value() : -1;
  }

  const PrefixCachedAllocator& allocator() const { return allocator_; }

 private:
  PrefixCachedAllocator allocator_;
};

// The least recently used prefix is evicted first; among equally old ones, the longest.
class PrefixModel {
 public:
  explicit PrefixModel(std::int64_t blocks) : blocks_(blocks) {}

  std::int64_t visit(const Tokens& prompt) {
    const auto length = static_cast<std::int64_t>(prompt.size());
    const std::int64_t needed = (length + 1) / 2;
    if (needed > blocks_) return -1;
    std::int64_t hits = 0;
    while (hits < (length - 1) / 2 && contains(prefix(prompt, hits + 1))) ++hits;
    // From here on the hits are held, so they are not evicted for the remaining blocks.
    for (std::int64_t i = 0; i < hits; ++i) by_age_.remove(prefix(prompt, i + 1));
    while (static_cast<std::int64_t>(by_age_.size()) > blocks_ - needed) by_age_.pop_front();
    for (std::int64_t full = length / 2; full > 0; --full) {
      const Tokens tokens = prefix(prompt, full);
      // Content that another block already has is not cached a second time.
      if (full > hits && contains(tokens)) continue;
      by_age_.push_back(tokens);
    }
    return 2 * hits;
  }

  std::int64_t cached_blocks() const { return static_cast<std::int64_t>(by_age_.size()); }

 private:
  static Tokens prefix(const Tokens& tokens, std::int64_t blocks) {
    return {tokens.begin(), tokens.begin() + 2 * blocks};
  }
  bool contains(const Tokens& tokens) const {
    return std::find(by_age_.begin(), by_age_.end(), tokens) != by_age_.end();
  }

  std::int64_t blocks_;
  std::list<Tokens> by_age_;
};

TEST_CASE("hits and evictions are those of a list of prefixes by age") {
  property("over any visits", [](Draw& draw) {
    const auto blocks = draw.growing(1, 11);
    Visits visits(blocks);
    PrefixModel model(blocks);
    const auto prompts = draw.list_of(20, [](Draw& prompt) {
      return prompt.nonempty_list([](Draw& token) { return token.growing<std::int32_t>(0, 1); });
    });
    for (const Tokens& prompt : prompts) {
      RECTO_REQUIRE(visits.visit(prompt) == model.visit(prompt));
      RECTO_REQUIRE(visits.allocator().counts().cached.value() == 2 * model.cached_blocks());
    }
  });
}

TEST_CASE("the tail of a sequence is evicted before its start") {
  Visits visits(4);
  visits.visit({1, 2, 3, 4, 5, 6});
  visits.visit({9, 9, 9, 9});  // takes the free block and one cached one
  CHECK(visits.visit({1, 2, 3, 4, 5, 6}) == 4);
}

TEST_CASE("the less recently used of two sequences is evicted") {
  Visits visits(4);
  visits.visit({1, 1, 1, 1});
  visits.visit({2, 2, 2, 2});
  visits.visit({1, 1, 1, 1});
  visits.visit({3, 3, 3, 3});
  CHECK(visits.visit({1, 1, 1, 1, 0}) == 4);
}

TEST_CASE("hits are whole blocks and fewer than the prompt") {
  Visits visits(8);
  visits.visit({1, 2, 3, 4});
  CHECK(visits.visit({1, 2, 3, 4}) == 2);
  CHECK(visits.visit({1, 2, 3, 4, 5}) == 4);
  CHECK(visits.visit({1, 2, 3}) == 2);
  CHECK(visits.visit({1}) == 0);
}

TEST_CASE("equal tokens after a different beginning are a different prefix") {
  Visits visits(8);
  visits.visit({1, 1, 7, 7});
  CHECK(visits.visit({2, 2, 7, 7, 7}) == 0);
}

TEST_CASE("an evictable hit does not count as room for the rest of the prompt") {
  Visits visits(2);
  visits.visit({1, 1, 2, 2});
  const Request request = request_of({1, 1, 2, 2, 3});
  PrefixCachedAllocator allocator({TokenCount(4), TokenCount(2)});
  allocator.open(SequenceId(0), {&request, 0});
  CHECK(allocator.fit(std::vector{SequenceId(0)}, TokenCount(5), TokenCount(0)) == Fit::kShort);
  CHECK(visits.visit({1, 1, 2, 2, 3}) == -1);
  CHECK(visits.allocator().counts().cached == TokenCount(4));
}

TEST_CASE("a fork publishes no block that its parent's commit left out") {
  const Request request = request_of({1, 1});
  const Request other = request_of({2, 2, 2, 2});
  PrefixCachedAllocator allocator({TokenCount(6), TokenCount(2)});
  const SequenceId first(0), twin(1), large(2), child(3);
  const TokenCount length(2);
  for (const SequenceId sequence : {first, twin, child}) allocator.open(sequence, {&request, 0});
  allocator.open(large, {&other, 0});
  REQUIRE(allocator.admit(std::vector{first}, length));
  REQUIRE(allocator.admit(std::vector{twin}, length));
  allocator.commit(first, length);
  allocator.commit(twin, length);  // another block is already known for this content
  allocator.release(first, length);
  REQUIRE(allocator.admit(std::vector{large}, TokenCount(4)));  // evicts the cached block
  CHECK(allocator.counts().cached == TokenCount(0));

  allocator.share(twin, child, length);
  allocator.commit(child, length);
  allocator.release(twin, length);
  allocator.release(child, length);
  CHECK(allocator.counts().cached == TokenCount(0));
  CHECK(allocator.counts().free == TokenCount(2));
}

TEST_CASE("prefixes of a prompt of zeros differ") {
  Visits visits(8);
  visits.visit({0, 0});
  CHECK(visits.visit({0, 0, 0, 0, 0}) == 2);
  CHECK(visits.visit({0, 0, 0, 0, 0}) == 4);
}

TEST_CASE("block hashes are equal for equal content runs, and differ beyond them") {
  const auto with_runs = [](std::int64_t id, std::vector<ContentRun> runs) {
    Request request = request_of(Tokens(8));
    request.id = id;
    request.content =
        std::make_shared<const TokenContent>(TokenContent{.prompt_runs = std::move(runs)});
    return request;
  };
  const Request left = with_runs(1, {{7, TokenCount(5)}});
  const Request right = with_runs(2, {{7, TokenCount(5)}});
  const Request split = with_runs(3, {{7, TokenCount(2)}, {7, TokenCount(3)}});
  TokenHashes a(&left, 0, TokenCount(2));
  TokenHashes b(&right, 0, TokenCount(2));
  TokenHashes c(&split, 0, TokenCount(2));
  CHECK(a.at(1) == b.at(1));
  CHECK(a.at(2) != b.at(2));  // the second token of its block is private
  CHECK(a.at(0) == c.at(0));
  CHECK(a.at(1) != c.at(1));  // the run begins anew: other tokens

  // Identities that share their low, or their high half, are two.
  constexpr std::uint64_t kId = 0x6a09'e667'f3bc'c908;
  const Request whole = with_runs(4, {{kId, TokenCount(5)}});
  for (const std::uint64_t other : {kId ^ (std::uint64_t{1} << 32U), kId ^ 1U, kId ^ (1U << 16U)}) {
    const Request alike = with_runs(5, {{other, TokenCount(5)}});
    CHECK(TokenHashes(&whole, 0, TokenCount(2)).at(0) !=
          TokenHashes(&alike, 0, TokenCount(2)).at(0));
  }
}

}  // namespace
}  // namespace recto::sim

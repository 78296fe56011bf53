#include "verify/block_manager/managed_allocator.h"

#include <memory>
#include <optional>
#include <vector>

#include "bazel/testing/catch.h"

namespace recto::verify {
namespace {

using sim::Fit;
using sim::SequenceId;

const SequenceId kFirst(0);
const SequenceId kSecond(1);

// Blocks of 4 slots; requests with prompts of 6 tokens and final contexts of 9.
class Pool {
 public:
  explicit Pool(ManagedOptions options) : allocator_(make(options)) {
    request_.prompt_tokens = TokenCount(6);
    request_.output_tokens = TokenCount(4);
    for (const SequenceId sequence : {kFirst, kSecond}) {
      allocator_->open(sequence, {&request_, sequence.value()});
    }
  }

  ManagedAllocator* operator->() { return allocator_.get(); }
  sim::Request& request() { return request_; }

 private:
  static std::unique_ptr<ManagedAllocator> make(const ManagedOptions& options) {
    return ManagedAllocator::create(options).value();
  }

  sim::Request request_;
  std::unique_ptr<ManagedAllocator> allocator_;
};

ManagedOptions blocks(std::int64_t count) {
  return {.pool_slots = TokenCount(4 * count),
          .block_size = TokenCount(4),
          .host_pool = TokenCount(4 * count),
          .max_length = TokenCount(64),
          .max_width = 2};
}

std::vector<SequenceId> alone(SequenceId sequence) { return {sequence}; }

TEST_CASE("a manager that can't be made is refused, naming the field") {
  CHECK(ManagedAllocator::create({.pool_slots = TokenCount(4), .block_size = TokenCount(0)})
            .status()
            .message() == "block_size = 0; expected at least 1");
  const auto no_block = ManagedAllocator::create({.pool_slots = TokenCount(15)});
  CHECK(no_block.status().code() == StatusCode::kInvalidInput);
  CHECK_THAT(no_block.status().message(), Catch::Matchers::ContainsSubstring("num_blocks = 0"));
  CHECK(ManagedAllocator::create({.pool_slots = TokenCount(16)}).is_ok());
}

TEST_CASE("an admission leaves the watermark free, and one block more makes it fit") {
  for (const std::int64_t count : {2, 3}) {
    ManagedOptions options = blocks(count);
    options.watermark = TokenCount(4);
    Pool pool(options);
    const Fit fit = pool->fit(alone(kFirst), TokenCount(6), TokenCount(4));
    CHECK(fit == (count == 3 ? Fit::kFits : Fit::kShort));
    CHECK(pool->admit(alone(kFirst), TokenCount(6)).has_value() == (count == 3));
  }
}

TEST_CASE("held slots are split by the final length") {
  Pool pool(blocks(5));
  REQUIRE(pool->admit(alone(kFirst), TokenCount(6)));
  REQUIRE(pool->grow(kFirst, TokenCount(6), TokenCount(9)));
  pool->follow(kFirst, TokenCount(7));
  const sim::PoolStates states = pool->states();
  CHECK(states.used == TokenCount(7));
  CHECK(states.reserved == TokenCount(2));
  CHECK(states.tail == TokenCount(3));
  CHECK(states.free == TokenCount(8));
  CHECK(states.sum() == TokenCount(20));
  CHECK(pool->counts().table_entries == 3);
}

TEST_CASE("blocks that a fork shares are kept when one of the two sequences leaves") {
  Pool pool(blocks(5));
  REQUIRE(pool->admit(alone(kFirst), TokenCount(6)));
  CHECK(pool->share(kFirst, kSecond, TokenCount(6)).hit == TokenCount(6));
  CHECK(pool->counts().held == TokenCount(8));
  CHECK(pool->counts().table_entries == 4);

  const auto growth = pool->grow(kSecond, TokenCount(6), TokenCount(7));
  REQUIRE(growth);
  CHECK(growth->copied == TokenCount(4));
  CHECK(growth->copied_context == TokenCount(2));

  const sim::Release release = pool->release(kFirst, TokenCount(6));
  CHECK(release.held == TokenCount(8));
  CHECK(release.kept == TokenCount(4));
  CHECK(release.kept_open == TokenCount(0));
  CHECK(pool->counts().held == TokenCount(8));
}

TEST_CASE("a set goes to the host with its shape, and comes back with it") {
  Pool pool(blocks(5));
  const std::vector<SequenceId> both = {kFirst, kSecond};
  REQUIRE(pool->admit(both, TokenCount(6)));
  pool->share(kFirst, kSecond, TokenCount(6));
  REQUIRE(pool->grow(kSecond, TokenCount(6), TokenCount(7)));
  const sim::TableShape shape = pool->shape(both, TokenCount(6));
  CHECK(shape.entries == std::vector<std::vector<std::int32_t>>{{0, 1}, {0, 2}});

  pool->begin_swap_out(both, TokenCount(6));
  CHECK(pool->counts().held == TokenCount(12));  // until the copy is made
  CHECK(pool->release(kFirst, TokenCount(6)).kept == TokenCount(4));
  CHECK(pool->release(kSecond, TokenCount(6)).kept == TokenCount(0));
  CHECK(pool->counts().held == TokenCount(0));
  CHECK(pool->host_states().used == TokenCount(8));

  REQUIRE(pool->restore(both, shape, TokenCount(0)));
  CHECK(pool->states().used == TokenCount(0));
  pool->finish_restore(both, TokenCount(6));
  CHECK(pool->states().used == TokenCount(8));
  CHECK(pool->shape(both, TokenCount(6)).entries == shape.entries);
}

TEST_CASE("blocks that a hit reuses are distinguished from blocks that are evicted for the rest") {
  ManagedOptions options = blocks(3);
  options.caching = cache::PrefixCaching::kOn;
  Pool pool(options);
  pool.request().prompt_tokens = TokenCount(9);
  pool.request().content = std::make_shared<const sim::TokenContent>(
      sim::TokenContent{.prompt_runs = {{1, TokenCount(9)}}, .output_content_id = {}});
  REQUIRE(pool->admit(alone(kFirst), TokenCount(8)));
  pool->commit(kFirst, TokenCount(8));
  pool->release(kFirst, TokenCount(8));
  CHECK(pool->counts().cached == TokenCount(8));
  CHECK(pool->cached_prefix(kSecond, TokenCount(8)) == TokenCount(4));
  const auto growth = pool->admit(alone(kSecond), TokenCount(9));
  REQUIRE(growth);
  CHECK(growth->hit == TokenCount(8));
  CHECK(growth->revived == TokenCount(8));
  CHECK(growth->held_after == TokenCount(12));
}

TEST_CASE("each block has the sharers and the cached contents that the manager reports") {
  ManagedOptions options = blocks(4);
  options.caching = cache::PrefixCaching::kOn;
  Pool pool(options);
  pool.request().content = std::make_shared<const sim::TokenContent>(
      sim::TokenContent{.prompt_runs = {{1, TokenCount(6)}}, .output_content_id = {}});
  CHECK(pool->block_table(kFirst).empty());
  REQUIRE(pool->admit(alone(kFirst), TokenCount(6)));
  pool->commit(kFirst, TokenCount(6));
  pool->share(kFirst, kSecond, TokenCount(6));
  REQUIRE(pool->block_table(kSecond).size() == 2);
  const BlockId full = pool->block_table(kSecond)[0];
  const BlockId open = pool->block_table(kSecond)[1];
  for (const BlockId block : {full, open}) {
    CHECK(pool->sharers(block) == 1);
    CHECK(pool->is_cached(block) == (block == full));
    CHECK_FALSE(pool->is_evictable(block));
  }
  for (const SequenceId sequence : {kFirst, kSecond}) pool->release(sequence, TokenCount(6));
  for (const BlockId block : {full, open}) {
    CHECK(pool->sharers(block) == 0);
    CHECK(pool->is_cached(block) == (block == full));
    CHECK(pool->is_evictable(block) == (block == full));
  }
  CHECK(pool->block_table(kFirst).empty());
}

TEST_CASE(
    "the scheduler grows a sequence by the drafts that stay, and the others are rolled back") {
  Pool pool(blocks(4));
  REQUIRE(pool->admit(alone(kFirst), TokenCount(6)));
  // One token of the step and twelve drafts; the pool has room for nine drafts.
  CHECK(pool->append_drafts(kFirst, TokenCount(6), TokenCount(13)) == TokenCount(10));
  CHECK(pool->block_table(kFirst).size() == 4);
  pool->take_back(kFirst, TokenCount(7), TokenCount(2));
  CHECK(pool->block_table(kFirst).size() == 3);
  const sim::Growth growth = pool->grow(kFirst, TokenCount(7), TokenCount(9)).value();
  CHECK(growth.held_before == TokenCount(8));
  CHECK(growth.held_after == TokenCount(12));
  CHECK(pool->counts().table_entries == 3);
  CHECK(pool->manager().view(pool->handle(kFirst)).value().context_length == TokenCount(9));
}

TEST_CASE("rejected drafts leave no trace") {
  Pool pool(blocks(4));
  REQUIRE(pool->admit(alone(kFirst), TokenCount(6)));
  CHECK(pool->append_drafts(kFirst, TokenCount(6), TokenCount(4)) == TokenCount(4));
  pool->take_back(kFirst, TokenCount(7), TokenCount(0));
  CHECK(pool->counts().table_entries == 2);
  const sim::Growth growth = pool->grow(kFirst, TokenCount(8), TokenCount(9)).value();
  CHECK(growth.held_before == TokenCount(8));
  CHECK(growth.held_after == TokenCount(12));
}

}  // namespace
}  // namespace recto::verify

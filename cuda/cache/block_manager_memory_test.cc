// Tests memory: successful operations allocate nothing, because a manager allocates all arrays when
// it is created; the reported sizes are right; and how much memory grows with the number of blocks.

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <span>
#include <vector>

#include "bazel/testing/catch.h"
#include "cuda/cache/batch_tables.h"
#include "cuda/cache/block_manager.h"
#include "cuda/cache/cache_events.h"
#include "cuda/cache/cache_reports.h"
#include "cuda/cache/fixed_array.h"
#include "cuda/cache/slot_mapping.h"

namespace {

std::int64_t allocations = 0;
std::int64_t allocated_bytes = 0;  // only increases

void* counted(std::size_t bytes) {
  ++allocations;
  allocated_bytes += static_cast<std::int64_t>(bytes);
  if (void* memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
  throw std::bad_alloc();
}
void* counted_aligned(std::size_t bytes, std::align_val_t alignment) {
  ++allocations;
  allocated_bytes += static_cast<std::int64_t>(bytes);
  const auto unit = static_cast<std::size_t>(alignment);
  return std::aligned_alloc(unit, (bytes + unit - 1) / unit * unit);
}

}  // namespace

void* operator new(std::size_t bytes) { return counted(bytes); }
void* operator new[](std::size_t bytes) { return counted(bytes); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return counted_aligned(bytes, alignment);
}
void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return counted_aligned(bytes, alignment);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace recto::cache {
namespace {

constexpr std::int64_t kTokens = 44;

// A router that ignores all events.
class Listener final : public CacheEvents {
 public:
  void on_stored(const StoredBlock&) override { ++told; }
  void on_removed(const RemovedBlock&) override { ++told; }
  void on_cleared() override { ++told; }

  std::int64_t told = 0;
};

CacheOptions options_with_everything(Listener& listener) {
  CacheOptions options;
  options.events = &listener;
  options.prefix.hasher.width = HashWidth::k128;
  options.num_blocks = BlockCount(64);
  options.block_size = TokenCount(4);
  options.null_blocks = BlockCount(1);
  options.host_blocks = BlockCount(32);
  options.max_sequences = 8;
  options.max_blocks_per_sequence = BlockCount(16);
  options.groups = {LayerGroup{}, LayerGroup{.num_layers = 1, .window = TokenCount(9)}};
  return options;
}

// A day of an engine: every operation and every query. It ends in its initial state, except for
// cached content.
class Day {
 public:
  Day() : tables_(BatchTables::create(manager_, {.max_rows = 8}, buffer_).value()) {
    for (std::size_t i = 0; i < ids_.size(); ++i) ids_[i] = static_cast<TokenId>(i);
  }

  bool is_lived(TokenId first_token) {
    ids_[0] = first_token;
    const Tokens tokens{.ids = ids_, .items = items_};
    Prompt prompt{.tokens = tokens, .keys = {.lora_id = 3, .tenant_salt = 4}};
    const std::int64_t hashed = manager_.hash_prompt(prompt, hashes_).value();
    prompt.hashes = std::span(hashes_).first(static_cast<std::size_t>(hashed));
    bool is_good = hashed == kTokens / 4 && manager_.can_admit(prompt);
    const SequenceHandle leader = manager_.admit(prompt).value().sequence;
    const std::int64_t hit = manager_.view(leader).value().context_length.value();
    is_good &= manager_.append(leader, TokenCount(kTokens - hit)).is_ok();
    is_good &= manager_.commit(leader, tokens).is_ok();
    is_good &= beams_and_swap(leader, manager_.fork(leader).value());
    is_good &= is_rewritten(leader, tokens);
    const Result<Pin> pin = manager_.pin(prompt);
    is_good &= manager_.unpin(pin.value().handle).is_ok();
    is_good &= manager_.preempt(leader).is_ok();
    is_good &= manager_.cached_prefix(prompt) > TokenCount(0);
    is_good &= manager_.can_resume(leader, prompt) && manager_.resume(leader, prompt).is_ok();
    return is_good && looked_at(leader) > 0 && manager_.release(leader).is_ok();
  }
  void reset() { manager_.reset_prefix_cache(); }
  const CacheStatistics& statistics() const { return manager_.statistics(); }
  std::int32_t left() const { return manager_.num_sequences(); }
  std::int64_t told() const { return listener_.told; }
  std::int64_t copies() const { return copies_; }

 private:
  // Calls all queries.
  std::int64_t looked_at(SequenceHandle sequence) const {
    std::int64_t sum = manager_.view(sequence).value().capacity.value();
    sum += std::ssize(manager_.block_table(sequence, 1).value());
    sum += manager_.states().used.value() + manager_.host_states().free.value();
    sum += manager_.group_states(1).held_empty.value() + manager_.available_blocks().value();
    return sum + manager_.num_sequences() + manager_.statistics().stored;
  }

  // Truncates into the last full block, of which children get copies, and computes it again.
  bool is_rewritten(SequenceHandle sequence, const Tokens& tokens) {
    bool is_good = manager_.truncate(sequence, TokenCount(kTokens - 2)).is_ok();
    is_good &= is_left_on_the_move(sequence);
    is_good &= manager_.append(sequence, TokenCount(2)).is_ok();
    return is_good && manager_.commit(sequence, tokens).is_ok();
  }

  // One child is released while it is swapped out, another while it is swapped in.
  bool is_left_on_the_move(SequenceHandle parent) {
    bool is_good = true;
    for (const bool comes_back : {false, true}) {
      const std::array<SequenceHandle, 1> child = {manager_.fork(parent).value()};
      const auto copies = manager_.append(child);
      copies_ += std::ssize(copies.value());
      is_good &= manager_.can_swap_out(child);
      TransferHandle move = manager_.swap_out(child).value().handle;
      if (comes_back) {
        is_good &= manager_.complete(move).is_ok() && manager_.can_swap_in(child);
        move = manager_.swap_in(child).value().handle;
      }
      is_good &= manager_.release(child[0]).is_ok() && manager_.complete(move).is_ok();
    }
    return is_good;
  }

  // The sibling continues as two beams, which are swapped out and in.
  bool beams_and_swap(SequenceHandle leader, SequenceHandle sibling) {
    const std::array<SequenceHandle, 1> parents = {sibling};
    const std::array<std::int32_t, 2> parent_of = {0, 0};
    const auto beams = manager_.beam_step(parents, parent_of);
    if (!beams.is_ok()) return false;
    const std::array<SequenceHandle, 2> pair = {beams.value()[0], beams.value()[1]};
    bool is_good = manager_.append(pair).is_ok() && manager_.can_append(pair);
    is_good &= manager_.reserve(pair[0], TokenCount(kTokens + 9)).is_ok();
    is_good &= tables_.assign(0, pair[0]).is_ok() && tables_.assign(1, leader).is_ok();
    is_good &= !tables_.update().empty();
    const std::array<TokenRange, 1> step = {{{.sequence = pair[0], .first = kTokens, .count = 1}}};
    is_good &= write_slot_mapping(manager_, 1, step, slots_).is_ok();
    is_good &= manager_.truncate(pair[1], TokenCount(kTokens)).is_ok();
    is_good &= manager_.append(pair).is_ok();
    is_good &= manager_.complete(manager_.swap_out(pair).value().handle).is_ok();
    is_good &= manager_.complete(manager_.swap_in(pair, TokenCount(3)).value().handle).is_ok();
    is_good &= tables_.clear(1).is_ok() && !tables_.update().empty();
    return is_good && manager_.release(pair[0]).is_ok() && manager_.release(pair[1]).is_ok();
  }

  Listener listener_;
  std::int64_t copies_ = 0;
  BlockManager manager_ = BlockManager::create(options_with_everything(listener_)).value();
  std::array<TokenId, kTokens> ids_;
  std::array<BlockHash, kTokens / 4> hashes_;
  std::array<MultimodalItem, 1> items_ = {{{.content_hash = 5, .start = 6, .length = 3}}};
  std::array<std::int32_t, 2 * 8 * 16> buffer_;
  std::array<std::int64_t, 4> slots_;
  BatchTables tables_;
};

TEST_CASE("an array allocates exactly the bytes of its elements") {
  for (const std::int64_t size : {0, 1, 100}) {
    const std::int64_t before = allocated_bytes;
    FixedArray<std::int64_t> array;
    CHECK(array.allocate(size, "numbers") == Status::ok());
    CHECK(allocated_bytes - before == 8 * size);
    CHECK(array.bytes() == 8 * size);
  }
}

TEST_CASE("no operation that succeeds allocates") {
  Day day;
  const std::int64_t before = allocations;
  bool is_good = true;
  for (TokenId i = 0; i < 50 && is_good; ++i) is_good = day.is_lived(i % 7);
  day.reset();
  const std::int64_t after = allocations;
  CHECK(is_good);
  CHECK(day.left() == 0);
  CHECK(day.statistics().evicted > 0);
  CHECK(day.statistics().hit_tokens > 0);
  CHECK(day.statistics().overwritten > 0);
  CHECK(day.copies() > 0);
  CHECK(day.told() > 0);
  CHECK(after == before);
  CHECK(before > 0);
}

// Bytes allocated to create a manager, and the memory that it reports.
struct Footprint {
  std::int64_t allocated_bytes = 0;
  CacheMemory reported;
};

Footprint footprint(CacheOptions options, std::int64_t num_blocks) {
  options.num_blocks = BlockCount(num_blocks);
  options.max_blocks_per_sequence = BlockCount(16);
  const std::int64_t before = allocated_bytes;
  const BlockManager manager = BlockManager::create(options).value();
  return {.allocated_bytes = allocated_bytes - before, .reported = manager.memory()};
}

// Bytes that were allocated for this many additional blocks, without tokens. Checks that nothing
// else grows, and that all of it is reported.
std::int64_t metadata_bytes(const CacheOptions& options, std::int64_t more_blocks) {
  const Footprint few = footprint(options, 1000);
  const Footprint many = footprint(options, 1000 + more_blocks);
  const std::int64_t grown = many.allocated_bytes - few.allocated_bytes;
  const std::int64_t tokens = many.reported.token_bytes - few.reported.token_bytes;
  CHECK(grown == many.reported.sum() - few.reported.sum());
  CHECK(many.reported.sequence_bytes == few.reported.sequence_bytes);
  CHECK(many.reported.host_bytes == few.reported.host_bytes);
  CHECK(few.allocated_bytes - few.reported.sum() < 4096);
  CHECK(few.allocated_bytes >= few.reported.sum());
  return grown - tokens;
}

TEST_CASE("all metadata of a block is at most 32 bytes, stored tokens apart") {
  for (const std::int64_t blocks : {10'000, 32'767, 65'536, 1'000'003}) {
    CHECK(metadata_bytes({}, blocks) <= 32 * blocks);
  }
  CacheOptions without;
  without.prefix.caching = PrefixCaching::kOff;
  CHECK(metadata_bytes(without, 10'000) == 8 * 10'000);
}

// Bytes: 8 for the pool; 12, 2 and 5.92 for a node; 4 for each group; 8 for the wider hash. In
// hundredths.
TEST_CASE("a block's metadata has the bytes that the options imply") {
  constexpr std::int64_t kBlocks = 300'000;
  // A list grows by 8 bytes for every few thousand blocks.
  const auto hundredths = [](const CacheOptions& options) {
    return 100 * metadata_bytes(options, kBlocks) / kBlocks;
  };
  CacheOptions options;
  CHECK(hundredths(options) == 800 + 1992 + 400);
  options.prefix.hasher.width = HashWidth::k128;
  CHECK(hundredths(options) == 800 + 1992 + 400 + 800);
  options.prefix.hasher.width = HashWidth::k64;
  options.groups.resize(3);
  CHECK(hundredths(options) == 800 + 1992 + 3 * 400);
}

TEST_CASE("the reported bytes of sequences are exactly the allocated ones") {
  CacheOptions options;
  options.max_sequences = 100;
  const Footprint few = footprint(options, 1000);
  options.max_sequences = 300;
  const Footprint many = footprint(options, 1000);
  CHECK(many.reported.sequence_bytes > few.reported.sequence_bytes);
  CHECK(many.allocated_bytes - few.allocated_bytes == many.reported.sum() - few.reported.sum());
}

TEST_CASE("a host block takes 20 bytes of metadata") {
  CacheOptions options;
  const std::int64_t before = footprint(options, 1000).reported.sum();
  options.host_blocks = BlockCount(10'000);
  const std::int64_t some = footprint(options, 1000).reported.sum();
  options.host_blocks = BlockCount(30'000);
  CHECK(footprint(options, 1000).reported.sum() - some == 20'000 * (8 + 12));
  CHECK(some > before);
}

}  // namespace
}  // namespace recto::cache

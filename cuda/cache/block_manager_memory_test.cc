// What succeeds does not ask for memory: everything is there when a manager has been made.

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
#include "cuda/cache/slot_mapping.h"

namespace {

std::int64_t allocations = 0;

void* counted(std::size_t bytes) {
  ++allocations;
  if (void* memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
  throw std::bad_alloc();
}
void* counted_aligned(std::size_t bytes, std::align_val_t alignment) {
  ++allocations;
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

constexpr std::int64_t kTokens = 40;

CacheOptions options_with_everything() {
  CacheOptions options;
  options.num_blocks = BlockCount(64);
  options.block_size = TokenCount(4);
  options.null_blocks = BlockCount(1);
  options.host_blocks = BlockCount(32);
  options.max_sequences = 8;
  options.max_blocks_per_sequence = BlockCount(16);
  options.groups = {LayerGroup{}, LayerGroup{.num_layers = 1, .window = TokenCount(9)}};
  return options;
}

// A day of an engine, with every operation; ends as it began, but for what is cached.
class Day {
 public:
  Day() : tables_(BatchTables::create(manager_, {.max_rows = 8}, buffer_).value()) {
    for (std::size_t i = 0; i < ids_.size(); ++i) ids_[i] = static_cast<TokenId>(i);
  }

  bool is_lived(TokenId first_token) {
    ids_[0] = first_token;
    const Tokens tokens{.ids = ids_, .items = items_};
    const Prompt prompt{.tokens = tokens, .keys = {.lora_id = 3, .tenant_salt = 4}};
    bool is_good = manager_.can_admit(prompt);
    const SequenceHandle leader = manager_.admit(prompt).value().sequence;
    const std::int64_t hit = manager_.view(leader).value().context_length.value();
    is_good &= manager_.append(leader, TokenCount(kTokens - hit)).is_ok();
    is_good &= manager_.commit(leader, tokens).is_ok();
    is_good &= beams_and_swap(leader, manager_.fork(leader).value());
    const Result<Pin> pin = manager_.pin(prompt);
    is_good &= manager_.unpin(pin.value().handle).is_ok();
    is_good &= manager_.preempt(leader).is_ok();
    is_good &= manager_.resume(leader, prompt).is_ok();
    return is_good && manager_.release(leader).is_ok();
  }
  void reset() { manager_.reset_prefix_cache(); }
  const CacheStatistics& statistics() const { return manager_.statistics(); }
  std::int32_t left() const { return manager_.num_sequences(); }

 private:
  // The sibling goes on as two beams, away and back.
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
    return is_good && manager_.release(pair[0]).is_ok() && manager_.release(pair[1]).is_ok();
  }

  BlockManager manager_ = BlockManager::create(options_with_everything()).value();
  std::array<TokenId, kTokens> ids_;
  std::array<MultimodalItem, 1> items_ = {{{.content_hash = 5, .start = 6, .length = 3}}};
  std::array<std::int32_t, 2 * 8 * 16> buffer_;
  std::array<std::int64_t, 4> slots_;
  BatchTables tables_;
};

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
  CHECK(after == before);
  CHECK(before > 0);
}

}  // namespace
}  // namespace recto::cache

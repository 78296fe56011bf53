#include "sim/allocators/paged_allocator.h"

#include <algorithm>
#include <bit>

#include <absl/container/flat_hash_map.h>
#include "core/contract.h"

namespace recto::sim {
namespace {

int shift_of(std::int64_t block_size) {
  const auto bits = static_cast<std::uint64_t>(block_size);
  return std::has_single_bit(bits) ? std::countr_zero(bits) : -1;
}

}  // namespace

PagedAllocator::PagedAllocator(const PagedOptions& options)
    : free_(options.null_blocks.value(), options.pool_slots.value() / options.block_size.value()),
      pool_slots_(options.pool_slots.value()),
      block_size_(options.block_size.value()),
      shift_(shift_of(options.block_size.value())),
      total_blocks_(options.pool_slots.value() / options.block_size.value()),
      null_blocks_(options.null_blocks.value()) {
  RECTO_CHECK_GT(block_size_, 0);
  RECTO_CHECK_GT(total_blocks_, null_blocks_);
  sharers_.resize(static_cast<std::size_t>(total_blocks_));
}

void PagedAllocator::open(SequenceId sequence, const SequenceSpec& spec) {
  const auto position = static_cast<std::size_t>(sequence.value());
  if (position >= holders_.size()) holders_.resize(position + 1);
  RECTO_CHECK_EQ(holders_[position].table.size(), 0u);
  holders_[position].spec = spec;
}

void PagedAllocator::close(SequenceId sequence) {
  RECTO_CHECK_EQ(holder(sequence).table.size(), 0u);
}

bool PagedAllocator::can_ever_hold(const Request& request, TokenCount spare) const {
  // Members share the full blocks of the prompt and own all other blocks.
  const std::int64_t shared = full_blocks(request.prompt_tokens);
  const std::int64_t own = blocks_for(request.final_context()) - shared;
  const std::int64_t needed = shared + own * request.width;
  return needed + blocks_for(spare) <= total_blocks_ - null_blocks_;
}

std::int64_t PagedAllocator::own_blocks_of_others(std::span<const SequenceId> members,
                                                  TokenCount length) const {
  const TokenCount prompt = holder(members.front()).spec.request->prompt_tokens;
  if (length <= prompt) return 0;  // members fork off the first member's last block
  const std::int64_t own = blocks_for(length) - full_blocks(prompt);
  return own * (static_cast<std::int64_t>(members.size()) - 1);
}

Fit PagedAllocator::fit(std::span<const SequenceId> members, TokenCount length,
                        TokenCount spare) const {
  const std::int64_t needed = blocks_for(length) + own_blocks_of_others(members, length);
  return needed + blocks_for(spare) <= available() ? Fit::kFits : Fit::kShort;
}

TokenCount PagedAllocator::cached_prefix(SequenceId, TokenCount) const { return TokenCount(0); }

std::optional<Growth> PagedAllocator::admit(std::span<const SequenceId> members,
                                            TokenCount length) {
  return grow(members.front(), TokenCount(0), length);
}

bool PagedAllocator::shares_tail(const Holder& holder, TokenCount context) const {
  const std::int64_t tail = full_blocks(context);
  if (slots(tail) == context.value()) return false;
  return sharers(holder.table[static_cast<std::size_t>(tail)]) > 0;
}

// Allocates memory for the whole final table at once.
void PagedAllocator::reserve_table(SequenceId sequence) {
  Holder& mine = holder(sequence);
  mine.table.reserve(static_cast<std::size_t>(blocks_for(mine.spec.request->final_context())));
}

std::optional<Growth> PagedAllocator::grow(SequenceId sequence, TokenCount context,
                                           TokenCount length) {
  std::vector<BlockId>& table = holder(sequence).table;
  const auto before = static_cast<std::int64_t>(table.size());
  const std::int64_t missing = std::max<std::int64_t>(blocks_for(length) - before, 0);
  const std::int64_t copies = shares_tail(holder(sequence), context) ? 1 : 0;
  if (missing + copies > available()) return std::nullopt;

  Growth growth;
  growth.held_before = TokenCount(slots(before));
  if (copies > 0) {
    BlockId& tail = table[static_cast<std::size_t>(full_blocks(context))];
    stop_sharing(tail);
    fresh_.clear();
    take(1, fresh_);
    tail = fresh_.front();
    growth.copied = TokenCount(block_size_);
    growth.copied_context = TokenCount(context.value() % block_size_);
  }
  if (before == 0) reserve_table(sequence);
  take(missing, table);
  growth.held_after = TokenCount(slots(before + missing));
  return growth;
}

void PagedAllocator::share_block(std::vector<BlockId>& table, BlockId block) {
  ++sharers_[static_cast<std::size_t>(block.value())];
  ++shared_entries_;
  table.push_back(block);
}

void PagedAllocator::stop_sharing(BlockId block) {
  --sharers_[static_cast<std::size_t>(block.value())];
  --shared_entries_;
}

bool PagedAllocator::append_blocks(std::span<const SequenceId> sequences) {
  const auto count = static_cast<std::int64_t>(sequences.size());
  if (count > available()) return false;
  fresh_.clear();
  take(count, fresh_);
  auto block = fresh_.begin();
  for (const SequenceId sequence : sequences) holder(sequence).table.push_back(*block++);
  return true;
}

Growth PagedAllocator::share(SequenceId parent, SequenceId child, TokenCount length) {
  std::vector<BlockId>& table = holder(child).table;
  RECTO_CHECK_EQ(table.size(), 0u);
  const auto count = static_cast<std::size_t>(blocks_for(length));
  for (std::size_t entry = 0; entry < count; ++entry) {
    share_block(table, holder(parent).table[entry]);
  }
  // No additional physical block is held.
  return {.hit = length};
}

Release PagedAllocator::release(SequenceId sequence, TokenCount context) {
  std::vector<BlockId>& table = holder(sequence).table;
  Release release{.held = TokenCount(slots(static_cast<std::int64_t>(table.size())))};
  if (shared_entries_ > 0) keep_shared_entries(table, context, release);
  drop(table);
  table.clear();
  return release;
}

TableShape PagedAllocator::shape(std::span<const SequenceId> members, TokenCount) const {
  TableShape shape;
  absl::flat_hash_map<BlockId, std::int32_t> numbers;
  for (const SequenceId member : members) {
    std::vector<std::int32_t>& entries = shape.entries.emplace_back();
    for (const BlockId block : holder(member).table) {
      const auto next = static_cast<std::int32_t>(numbers.size());
      entries.push_back(numbers.try_emplace(block, next).first->second);
    }
  }
  shape.block_count = static_cast<std::int32_t>(numbers.size());
  shape.slots = TokenCount(slots(shape.block_count));
  return shape;
}

bool PagedAllocator::restore(std::span<const SequenceId> members, const TableShape& shape,
                             TokenCount spare) {
  if (shape.block_count + blocks_for(spare) > available()) return false;
  std::vector<BlockId> blocks;
  take(shape.block_count, blocks);
  std::vector<bool> has_holder(blocks.size());
  for (std::size_t member = 0; member < members.size(); ++member) {
    std::vector<BlockId>& table = holder(members[member]).table;
    RECTO_CHECK_EQ(table.size(), 0u);
    for (const std::int32_t number : shape.entries[member]) {
      const auto place = static_cast<std::size_t>(number);
      if (has_holder[place]) {
        share_block(table, blocks[place]);
      } else {
        table.push_back(blocks[place]);
        has_holder[place] = true;
      }
    }
  }
  return true;
}

// Counts the blocks that other sequences still hold, and removes them from the table.
void PagedAllocator::keep_shared_entries(std::vector<BlockId>& table, TokenCount context,
                                         Release& release) {
  std::int64_t start = 0;
  std::erase_if(table, [&](BlockId block) {
    const std::int64_t written = std::clamp<std::int64_t>(context.value() - start, 0, block_size_);
    start += block_size_;
    if (sharers(block) == 0) return false;
    stop_sharing(block);
    release.kept += TokenCount(written);
    release.kept_open += TokenCount(block_size_ - written);
    return true;
  });
}

void PagedAllocator::take(std::int64_t count, std::vector<BlockId>& table) {
  free_.take(count, table);
}

void PagedAllocator::drop(std::span<const BlockId> blocks) { free_.give(blocks); }

void PagedAllocator::commit(SequenceId, TokenCount) {}

PoolCounts PagedAllocator::counts() const {
  const std::int64_t usable = total_blocks_ - null_blocks_;
  const std::int64_t free = free_.size();
  PoolCounts counts;
  counts.pool = TokenCount(pool_slots_);
  counts.held_blocks = usable - free - evictable();
  counts.held = TokenCount(slots(counts.held_blocks));
  counts.cached = TokenCount(slots(evictable()));
  counts.free = TokenCount(slots(free));
  counts.overhead = TokenCount(pool_slots_ - slots(usable));
  counts.largest_hole = counts.cached + counts.free;  // a table may combine any blocks
  counts.table_entries = counts.held_blocks + shared_entries_;
  return counts;
}

std::string PagedAllocator::describe() const {
  return "paged, block " + std::to_string(block_size_);
}

}  // namespace recto::sim

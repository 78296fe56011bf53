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
    : pool_slots_(options.pool_slots.value()),
      block_size_(options.block_size.value()),
      shift_(shift_of(options.block_size.value())),
      total_blocks_(options.pool_slots.value() / options.block_size.value()),
      null_blocks_(options.null_blocks.value()) {
  RECTO_CHECK_GT(block_size_, 0);
  RECTO_CHECK_GT(total_blocks_, null_blocks_);
  references_.resize(static_cast<std::size_t>(total_blocks_));
  free_.reserve(static_cast<std::size_t>(total_blocks_));
  for (std::int64_t id = total_blocks_ - 1; id >= null_blocks_; --id) {
    free_.push_back(BlockId(static_cast<std::int32_t>(id)));
  }
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
  // Members share the full blocks of the prompt and own the rest.
  const std::int64_t shared = full_blocks(request.prompt_tokens);
  const std::int64_t own = blocks_for(request.final_context()) - shared;
  const std::int64_t needed = shared + own * request.width;
  return needed + blocks_for(spare) <= total_blocks_ - null_blocks_;
}

std::int64_t PagedAllocator::own_blocks_of_others(std::span<const SequenceId> members,
                                                  TokenCount length) const {
  const TokenCount prompt = holder(members.front()).spec.request->prompt_tokens;
  if (length <= prompt) return 0;  // they fork off the first one's last block
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
  const BlockId block = holder.table[static_cast<std::size_t>(tail)];
  return references_[static_cast<std::size_t>(block.value())] > 1;
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
    --references(tail);
    std::vector<BlockId> copy;
    take(1, copy);
    tail = copy.front();
    references(tail) = 1;
    growth.copied = TokenCount(block_size_);
    growth.copied_context = TokenCount(context.value() % block_size_);
  }
  extend(table, missing);
  growth.held_after = TokenCount(slots(before + missing));
  return growth;
}

void PagedAllocator::extend(std::vector<BlockId>& table, std::int64_t block_count) {
  const std::size_t before = table.size();
  take(block_count, table);
  for (std::size_t entry = before; entry < table.size(); ++entry) references(table[entry]) = 1;
  table_entries_ += block_count;
}

void PagedAllocator::refer(std::vector<BlockId>& table, BlockId block) {
  ++references(block);
  table.push_back(block);
  ++table_entries_;
}

Growth PagedAllocator::share(SequenceId parent, SequenceId child, TokenCount length) {
  std::vector<BlockId>& table = holder(child).table;
  RECTO_CHECK_EQ(table.size(), 0u);
  const auto count = static_cast<std::size_t>(blocks_for(length));
  for (std::size_t entry = 0; entry < count; ++entry) refer(table, holder(parent).table[entry]);
  // Physically nothing is held that was not held before.
  return {.hit = length};
}

Release PagedAllocator::release(SequenceId sequence, TokenCount context) {
  std::vector<BlockId>& table = holder(sequence).table;
  Release release{.held = TokenCount(slots(static_cast<std::int64_t>(table.size())))};
  table_entries_ -= static_cast<std::int64_t>(table.size());
  std::int64_t still_held = 0;
  for (const BlockId block : table) still_held += --references(block) > 0 ? 1 : 0;
  if (still_held > 0) keep_shared_entries(table, context, release);
  // Tail first, so that the start of a sequence outlives its end among the evictable.
  std::reverse(table.begin(), table.end());
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
  for (const BlockId block : blocks) references(block) = 0;
  for (std::size_t member = 0; member < members.size(); ++member) {
    std::vector<BlockId>& table = holder(members[member]).table;
    RECTO_CHECK_EQ(table.size(), 0u);
    for (const std::int32_t number : shape.entries[member]) {
      refer(table, blocks[static_cast<std::size_t>(number)]);
    }
  }
  return true;
}

// Counts the blocks that others still hold, and takes them off the table.
void PagedAllocator::keep_shared_entries(std::vector<BlockId>& table, TokenCount context,
                                         Release& release) {
  std::int64_t start = 0;
  std::erase_if(table, [&](BlockId block) {
    const std::int64_t written = std::clamp<std::int64_t>(context.value() - start, 0, block_size_);
    start += block_size_;
    if (references(block) == 0) return false;
    release.kept += TokenCount(written);
    release.kept_open += TokenCount(block_size_ - written);
    return true;
  });
}

void PagedAllocator::take(std::int64_t count, std::vector<BlockId>& table) {
  if (count == 1) {  // by far the most frequent case
    table.push_back(free_.back());
    free_.pop_back();
    return;
  }
  // Room first, then a copy: inserting would construct element by element.
  const std::size_t before = table.size();
  table.resize(before + static_cast<std::size_t>(count));
  std::reverse_copy(free_.end() - count, free_.end(),
                    table.begin() + static_cast<std::ptrdiff_t>(before));
  free_.resize(free_.size() - static_cast<std::size_t>(count));
}

void PagedAllocator::drop(std::span<const BlockId> blocks) {
  const std::size_t before = free_.size();
  free_.resize(before + blocks.size());
  std::copy(blocks.begin(), blocks.end(), free_.begin() + static_cast<std::ptrdiff_t>(before));
}

void PagedAllocator::commit(SequenceId, TokenCount) {}

PoolCounts PagedAllocator::counts() const {
  const std::int64_t usable = total_blocks_ - null_blocks_;
  const auto free = static_cast<std::int64_t>(free_.size());
  PoolCounts counts;
  counts.pool = TokenCount(pool_slots_);
  counts.held_blocks = usable - free - evictable();
  counts.held = TokenCount(slots(counts.held_blocks));
  counts.cached = TokenCount(slots(evictable()));
  counts.free = TokenCount(slots(free));
  counts.overhead = TokenCount(pool_slots_ - slots(usable));
  counts.largest_hole = counts.cached + counts.free;  // a table joins any blocks
  counts.table_entries = table_entries_;
  return counts;
}

std::string PagedAllocator::describe() const {
  return "paged, block " + std::to_string(block_size_);
}

const std::vector<BlockId>& PagedAllocator::block_table(SequenceId sequence) const {
  return holder(sequence).table;
}

std::int32_t PagedAllocator::reference_count(BlockId block) const {
  return references_[static_cast<std::size_t>(block.value())];
}

}  // namespace recto::sim

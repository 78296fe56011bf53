// Swaps sets of sequences out and in; accounts over all sequences, wherever they are.

#include <algorithm>

#include <absl/container/flat_hash_set.h>
#include "core/contract.h"
#include "verify/block_manager/managed_allocator.h"

namespace recto::verify {

std::span<const BlockId> ManagedAllocator::table(const Member& member) const {
  return manager_.block_table(*member.handle, 0).value();
}

std::int32_t ManagedAllocator::sharers(BlockId block) const {
  return std::max(manager_.block(block).holders - 1, 0);
}

bool ManagedAllocator::is_cached(BlockId block) const { return manager_.block(block).is_cached; }

bool ManagedAllocator::is_evictable(BlockId block) const {
  const cache::BlockState state = manager_.block(block).state;
  return state == cache::BlockState::kEvictable || state == cache::BlockState::kPinned;
}

sim::TableShape ManagedAllocator::shape(std::span<const sim::SequenceId> members,
                                        TokenCount) const {
  sim::TableShape shape;
  absl::flat_hash_map<BlockId, std::int32_t> numbers;
  for (const sim::SequenceId sequence : members) {
    std::vector<std::int32_t>& entries = shape.entries.emplace_back();
    for (const BlockId block : table(member(sequence))) {
      entries.push_back(numbers.try_emplace(block, shape.block_count).first->second);
      shape.block_count = static_cast<std::int32_t>(numbers.size());
    }
  }
  shape.slots = shape.block_count * block_size();
  return shape;
}

// The manager frees room without tokens at once, but the simulator moves whole tables. A member may
// already hold a block for its next token when there is none for the others: that block counts as
// context until the set is swapped in again.
void ManagedAllocator::begin_swap_out(std::span<const sim::SequenceId> members,
                                      TokenCount context) {
  for (const sim::SequenceId sequence : members) {
    Member& mine = member(sequence);
    catch_up(mine, context);
    const TokenCount capacity = view(mine).capacity;
    if (blocks_of(capacity) == blocks_of(context)) continue;
    mine.swapped_room = capacity - context;
    catch_up(mine, capacity);
  }
  const std::vector<cache::SequenceHandle> leaving = handles(members);
  const cache::Transfer transfer = manager_.swap_out(leaving).value();
  on_swap_out(transfer.copies);
  departure_ = {.transfer = transfer.handle, .members_left = std::ssize(members), .gone = {}};
}

// The manager frees a whole set at once, when its last member is released.
sim::Release ManagedAllocator::depart(Member& member, TokenCount context) {
  RECTO_CHECK(departure_.has_value());
  const std::int64_t block_slots = block_size().value();
  sim::Release release;
  std::int64_t begin = 0;
  for (const BlockId block : table(member)) {
    release.held += block_size();
    const std::int32_t entries = manager_.block(block).holders;
    if (entries > 1) {
      std::int32_t& gone = departure_->gone[block];
      const TokenCount written(std::clamp<std::int64_t>(context.value() - begin, 0, block_slots));
      if (++gone < entries) {
        release.kept += written;
        release.kept_open += block_size() - written;
      }
    }
    begin += block_slots;
  }
  table_entries_ -= blocks_of(release.held);
  if (--departure_->members_left == 0) {
    RECTO_CHECK_EQ(manager_.complete(departure_->transfer), Status::ok());
    departure_.reset();
  }
  return release;
}

bool ManagedAllocator::restore(std::span<const sim::SequenceId> members,
                               const sim::TableShape& shape, TokenCount spare) {
  RECTO_CHECK_EQ(blocks_of(spare), manager_.options().watermark.value());
  const TokenCount held_before = counts().held;
  const Result<cache::Transfer> transfer = manager_.swap_in(handles(members));
  if (!transfer.is_ok()) {
    RECTO_CHECK(transfer.status().code() == StatusCode::kExhausted);
    return false;
  }
  arrival_ = transfer.value().handle;
  on_swap_in(transfer.value().copies);
  RECTO_CHECK_EQ(counts().held - held_before, shape.slots);
  for (const sim::SequenceId sequence : members) {
    table_entries_ += std::ssize(table(member(sequence)));
  }
  return true;
}

void ManagedAllocator::finish_restore(std::span<const sim::SequenceId> members,
                                      TokenCount context) {
  RECTO_CHECK_EQ(manager_.complete(arrival_), Status::ok());
  for (const sim::SequenceId sequence : members) {
    Member& mine = member(sequence);
    if (mine.swapped_room == TokenCount(0)) continue;
    RECTO_CHECK_EQ(manager_.truncate(*mine.handle, context), Status::ok());
    const auto copies = manager_.reserve(*mine.handle, context + mine.swapped_room);
    RECTO_CHECK_EQ(copies.value().size(), 0u);
    mine.swapped_room = TokenCount(0);
  }
}

// Slots after the final context, in held blocks. A shared block counts once.
TokenCount ManagedAllocator::tail_slots() const {
  absl::flat_hash_set<BlockId> seen;
  TokenCount slots;
  for (const Member& member : members_) {
    if (!member.handle) continue;
    const TokenCount final_context = member.spec.request->final_context();
    const std::span<const BlockId> blocks = table(member);
    for (auto place = final_context.value() / block_size().value(); place < std::ssize(blocks);
         ++place) {
      if (!seen.insert(blocks[static_cast<std::size_t>(place)]).second) continue;
      const TokenCount begin = place * block_size();
      slots += begin + block_size() - std::max(begin, final_context);
    }
  }
  return slots;
}

TokenCount ManagedAllocator::swapped_room_where(bool (*where)(cache::SequenceState state)) const {
  TokenCount slots;
  for (const Member& member : members_) {
    if (member.swapped_room > TokenCount(0) && where(view(member).state)) {
      slots += member.swapped_room;
    }
  }
  return slots;
}

sim::PoolStates ManagedAllocator::states() const {
  const cache::PoolStates told = manager_.states();
  const TokenCount room = swapped_room_where(
      [](cache::SequenceState state) { return state == cache::SequenceState::kSwappingOut; });
  sim::PoolStates states;
  states.used = told.used - room;
  states.tail = tail_slots();
  states.reserved = told.held_empty + room - states.tail;
  states.cached = told.cached;
  states.free = told.free;
  states.overhead = told.overhead + remainder_;
  return states;
}

sim::PoolStates ManagedAllocator::host_states() const {
  const cache::PoolStates told = manager_.host_states();
  const TokenCount room = swapped_room_where([](cache::SequenceState state) {
    return state == cache::SequenceState::kSwapped || state == cache::SequenceState::kSwappingIn;
  });
  sim::PoolStates states;
  states.used = told.used - room;
  states.reserved = told.held_empty + room;
  states.free = told.free;
  states.overhead = told.overhead + host_remainder_;
  return states;
}

}  // namespace recto::verify

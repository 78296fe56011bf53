// Operations of an engine within a step, which the simulator does not have: appending tokens,
// rolling back drafts, and beam steps.

#include "core/contract.h"
#include "verify/block_manager/managed_allocator.h"

namespace recto::verify {

void ManagedAllocator::follow(sim::SequenceId sequence, TokenCount context) {
  if (is_running(member(sequence))) catch_up(member(sequence), context);
}

TokenCount ManagedAllocator::append_drafts(sim::SequenceId sequence, TokenCount context,
                                           TokenCount count) {
  Member& mine = member(sequence);
  catch_up(mine, context);
  mine.told_capacity = view(mine).capacity;
  for (; count > TokenCount(0); count = count - TokenCount(1)) {
    const TokenCount before = view(mine).capacity;
    const auto copies = manager_.append(*mine.handle, count);
    if (!copies.is_ok()) continue;
    RECTO_CHECK_EQ(copies.value().size(), 0u);
    table_entries_ += blocks_of(view(mine).capacity - before);
    break;
  }
  return count;
}

void ManagedAllocator::take_back(sim::SequenceId sequence, TokenCount context, TokenCount kept) {
  Member& mine = member(sequence);
  const TokenCount before = view(mine).capacity;
  RECTO_CHECK_EQ(manager_.truncate(*mine.handle, context + kept), Status::ok());
  table_entries_ -= blocks_of(before - view(mine).capacity);
  mine.kept_drafts = kept;
}

void ManagedAllocator::branch(std::span<const sim::SequenceId> members,
                              std::span<const std::int32_t> parent_of, TokenCount context) {
  for (const sim::SequenceId sequence : members) {
    catch_up(member(sequence), context);
    table_entries_ -= std::ssize(table(member(sequence)));
  }
  const auto beams = manager_.beam_step(handles(members), parent_of);
  for (std::size_t i = 0; i < members.size(); ++i) {
    member(members[i]).handle = beams.value()[i];
  }
  for (const sim::SequenceId sequence : members) {
    table_entries_ += std::ssize(table(member(sequence)));
  }
}

}  // namespace recto::verify

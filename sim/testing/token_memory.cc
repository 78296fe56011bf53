#include "sim/testing/token_memory.h"

#include "core/contract.h"
#include "sim/testing/token_chain.h"

namespace recto::sim {

TokenMemory::TokenMemory(const Allocator& allocator, Batching batching)
    : allocator_(allocator), batching_(batching) {
  if (!allocator.is_paged()) return;
  slots_.resize(static_cast<std::size_t>(allocator.counts().pool.value()));
}

void TokenMemory::on_step(const StepPlan& plan, const StepCost&, SimTime) {
  is_planned_ = true;
  is_step_ = plan.kind == StepPlan::Kind::kStep;
}

void TokenMemory::on_gauges(const GaugeValues&, const Scheduler& scheduler, SimTime) {
  if (!allocator_.is_paged() || !is_planned_) return;
  is_planned_ = false;
  for (const SequenceGroup* group : scheduler.holders()) {
    if (group->phase != SequenceGroupPhase::kPrefilling &&
        group->phase != SequenceGroupPhase::kDecoding)
      continue;
    for (std::size_t i = 0; i < group->members.size(); ++i) follow(scheduler, *group, i);
  }
}

std::uint64_t& TokenMemory::slot(std::span<const BlockId> table, std::int64_t position) {
  const std::int64_t block_size = allocator_.block_size().value();
  const std::int64_t block = table[static_cast<std::size_t>(position / block_size)].value();
  return slots_[static_cast<std::size_t>(block * block_size + position % block_size)];
}

std::uint64_t TokenMemory::block_end(BlockId block) const {
  const std::int64_t block_size = allocator_.block_size().value();
  return slots_[static_cast<std::size_t>((block.value() + 1) * block_size - 1)];
}

// New blocks in place of others were copied, on the device or from the host.
void TokenMemory::move(Sequence& sequence, std::span<const BlockId> table) {
  const auto tokens = static_cast<std::int64_t>(sequence.chain.size());
  for (std::int64_t position = 0; position < tokens; ++position) {
    const auto entry = static_cast<std::size_t>(position / allocator_.block_size().value());
    const bool stays = entry < sequence.table.size() && sequence.table[entry] == table[entry];
    const std::uint64_t token = sequence.chain[static_cast<std::size_t>(position)];
    if (!stays) slot(table, position) = token;
  }
  sequence.table.assign(table.begin(), table.end());
}

std::int64_t TokenMemory::planned_writes(const SequenceGroup& group, std::size_t member,
                                         std::int64_t context) const {
  if (!is_step_) return 0;
  if (group.phase == SequenceGroupPhase::kDecoding) return 1;
  if (batching_ == Batching::kStatic) return group.request.prompt_tokens.value() - context;
  return member == group.prefill_member ? group.planned_chunk : 0;
}

void TokenMemory::follow(const Scheduler& scheduler, const SequenceGroup& group,
                         std::size_t member) {
  const std::int64_t context = scheduler.context(group, member);
  const std::span<const BlockId> table = allocator_.block_table(group.members[member]);
  Sequence& sequence = sequences_[{group.request.id, member}];
  std::vector<std::uint64_t>& chain = sequence.chain;
  if (member > 0 && chain.empty()) {
    // The member forks off the first member, which was followed before it.
    sequence = sequences_[{group.request.id, 0}];
    chain.resize(static_cast<std::size_t>(context));
  }
  const auto known = static_cast<std::int64_t>(chain.size());
  if (known > 0) RECTO_CHECK_EQ(known, context);  // no step skips or repeats a token
  move(sequence, table);
  for (std::int64_t p = known; p < context; ++p) chain.push_back(slot(table, p));
  for (std::int64_t p = 0; p < context; ++p) {
    RECTO_CHECK_EQ(slot(table, p), chain[static_cast<std::size_t>(p)]);
  }
  const std::int64_t end = context + planned_writes(group, member, context);
  for (std::int64_t p = context; p < end; ++p) {
    const std::uint64_t before = p == 0 ? kEmptyChain : chain.back();
    chain.push_back(extend_chain(before, group.request, static_cast<std::int64_t>(member), p));
    slot(table, p) = chain.back();
  }
}

void TokenMemory::on_preempted(const SequenceGroup& group, PreemptionKind kind, SimTime) {
  for (std::size_t i = 0; i < group.members.size(); ++i) {
    Sequence& sequence = sequences_[{group.request.id, i}];
    sequence.table.clear();
    if (kind == PreemptionKind::kRecompute) sequence.chain.clear();
  }
}

void TokenMemory::on_finished(const SequenceGroup& group, SimTime) {
  for (std::size_t i = 0; i < group.members.size(); ++i) {
    // Members that never wrote anything have the contents of the first member.
    const auto own = sequences_.find({group.request.id, i});
    const bool has_own = own != sequences_.end() && !own->second.chain.empty();
    const Sequence& sequence = has_own ? own->second : sequences_[{group.request.id, 0}];
    if (allocator_.is_paged()) {
      RECTO_CHECK_EQ(static_cast<std::int64_t>(sequence.chain.size()),
                     group.request.prompt_tokens.value() + group.request.output_tokens.value() - 1);
      finished_[{group.request.id, i}] = sequence.chain.back();
    }
  }
  for (std::size_t i = 0; i < group.members.size(); ++i) sequences_.erase({group.request.id, i});
}

}  // namespace recto::sim

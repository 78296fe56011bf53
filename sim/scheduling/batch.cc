#include "sim/scheduling/batch.h"

#include <algorithm>

#include "core/contract.h"

namespace recto::sim {

Batch::Batch(std::int64_t block_size, std::int64_t window)
    : block_size_(block_size),
      window_(window),
      clock_(block_size),
      residue_sequences_(static_cast<std::size_t>(std::max<std::int64_t>(block_size, 1))) {}

GroupIndex Batch::create(const Request& request) {
  if (unused_.empty()) {
    unused_.push_back(static_cast<GroupIndex>(groups_.size()));
    groups_.push_back(std::make_unique<SequenceGroup>());
    growing_.emplace_back();
  }
  const GroupIndex index = unused_.back();
  unused_.pop_back();
  SequenceGroup& group = at(index);
  std::vector<SequenceId> members = std::move(group.members);
  group = SequenceGroup();
  group.members = std::move(members);  // reuses the vector's memory
  group.members.clear();
  group.request = request;
  for (std::int32_t member = 0; member < request.width; ++member) {
    if (unused_sequences_.empty()) unused_sequences_.push_back(sequence_count_++);
    group.members.push_back(SequenceId(unused_sequences_.back()));
    unused_sequences_.pop_back();
  }
  return index;
}

void Batch::destroy(GroupIndex index) {
  for (const SequenceId member : at(index).members) unused_sequences_.push_back(member.value());
  at(index).request.content.reset();
  unused_.push_back(index);
}

void Batch::add_running(GroupIndex index) {
  running_.insert(index, at(index).request.id);
  running_sequences_ += at(index).width();
}

void Batch::remove_running(GroupIndex index) {
  running_.remove(index);
  running_sequences_ -= at(index).width();
}

std::int64_t Batch::context(const SequenceGroup& group, std::size_t member) const {
  switch (group.phase) {
    case SequenceGroupPhase::kWaiting:
    case SequenceGroupPhase::kSwapped:
    case SequenceGroupPhase::kSwappingIn:  // written when the copy ends
      return 0;
    case SequenceGroupPhase::kPrefilling:  // one member after the other
      if (member == group.prefill_member) return group.prefill_context;
      return member < group.prefill_member ? group.prefill_target : 0;
    case SequenceGroupPhase::kDecoding:
    case SequenceGroupPhase::kSwappingOut:
    case SequenceGroupPhase::kAnswered:
      return context(group);
  }
  RECTO_UNREACHABLE("every phase is handled above");
}

std::int64_t Batch::visible(std::int64_t context) const {
  return window_ == 0 ? context : std::min(context, window_ - 1);
}

void Batch::count(const SequenceGroup& group, std::int64_t context, std::int64_t sign) {
  const std::int64_t sequences = sign * group.width();
  decoding_sequences_ += sequences;
  visible_tokens_ += sequences * visible(context);
  if (group.beyond_window) sequences_beyond_window_ += sequences;
  if (block_size_ == 0) return;
  blocks_ += sequences * ceil_div(context, block_size_);
  residue_sequences_[clock_.residue_of(context)] += sequences;
}

void Batch::start_decoding(GroupIndex index, std::int64_t deadline_context) {
  SequenceGroup& group = at(index);
  group.phase = SequenceGroupPhase::kDecoding;
  group.anchor_clock = clock_.now();
  group.beyond_window = window_ != 0 && group.context >= window_ - 1;
  count(group, group.context, 1);
  growing_[static_cast<std::size_t>(index)] = {
      .end = clock_.now() + group.final_context() - group.context,
      .width = group.request.width,
      .first_member = group.members.front()};
  clock_.start(index, group.request.id, group.context,
               clock_.now() + deadline_context - group.context);
}

void Batch::stop_decoding(GroupIndex index) {
  SequenceGroup& group = at(index);
  group.context = context(index);
  group.anchor_clock = clock_.now();
  clock_.stop(index);
  count(group, group.context, -1);
}

void Batch::set_deadline(GroupIndex index, std::int64_t deadline_context) {
  clock_.set_deadline(index, clock_.now() + deadline_context - context(index));
}

void Batch::enter_beyond_window(GroupIndex index) {
  SequenceGroup& group = at(index);
  RECTO_CHECK(!group.beyond_window);
  group.beyond_window = true;
  sequences_beyond_window_ += group.width();
}

void Batch::collect_due_blocks(DueBlocks& due) const {
  due.sequences.clear();
  std::int64_t wanted = 0;
  for (const GroupIndex index : clock_.due()) {
    const Growing& group = growing_[static_cast<std::size_t>(index)];
    wanted += group.width * std::min(block_size_, group.end - clock_.now());
    if (group.width == 1) {
      due.sequences.push_back(group.first_member);
    } else {
      const std::vector<SequenceId>& members = at(index).members;
      due.sequences.insert(due.sequences.end(), members.begin(), members.end());
    }
  }
  due.wanted = TokenCount(wanted);
}

void Batch::add_decode_load(StepLoad& load) const {
  load.decode_sequences += decoding_sequences_;
  load.decode_kv_tokens += TokenCount(visible_tokens_ + decoding_sequences_);
  if (block_size_ == 0) return;
  load.decode_kv_blocks += BlockCount(blocks_ + residue_sequences_[clock_.residue()]);
}

void Batch::add_row_load(std::int64_t context, StepLoad& load) const {
  load.decode_kv_tokens += TokenCount(visible(context) + 1);
  if (block_size_ != 0) load.decode_kv_blocks += BlockCount(ceil_div(context + 1, block_size_));
}

void Batch::tick() {
  visible_tokens_ += decoding_sequences_ - sequences_beyond_window_;
  if (block_size_ != 0) blocks_ += residue_sequences_[clock_.residue()];
  clock_.tick();
}

}  // namespace recto::sim

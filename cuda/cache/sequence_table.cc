#include "cuda/cache/sequence_table.h"

#include <algorithm>

#include "core/contract.h"
#include "cuda/cache/message.h"

namespace recto::cache {

const char* sequence_state_name(SequenceState state) {
  constexpr const char* kNames[] = {"running", "preempted", "being swapped out", "swapped out",
                                    "being swapped in"};
  return kNames[static_cast<int>(state)];
}

Result<SequenceTable> SequenceTable::create(std::int32_t max_sequences) {
  SequenceTable table;
  Sequence unused{};
  unused.generation = 1;
  unused.life = SequenceLife::kNone;
  const SequenceDetails none{.keys = {}, .publishing = PrefixCaching::kOff, .next_in_transfer = -1};
  RECTO_RETURN_IF_ERROR(table.sequences_.allocate(max_sequences, "sequences", unused));
  RECTO_RETURN_IF_ERROR(table.details_.allocate(max_sequences, "sequences' details", none));
  RECTO_RETURN_IF_ERROR(table.free_.allocate(max_sequences, "free places of sequences"));
  RECTO_RETURN_IF_ERROR(table.log_.allocate(max_sequences));
  // Low places are used first.
  for (std::int32_t i = 0; i < max_sequences; ++i) table.free_[i] = max_sequences - 1 - i;
  table.num_free_ = max_sequences;
  return table;
}

bool SequenceTable::is_alive(SequenceHandle handle) const {
  return handle.index >= 0 && handle.index < size() &&
         sequences_[handle.index].generation == handle.generation &&
         sequences_[handle.index].life == SequenceLife::kAlive;
}

Result<std::int32_t> SequenceTable::find(SequenceHandle handle) const {
  if (is_alive(handle)) return handle.index;
  if (handle.index < 0 || handle.index >= size()) {
    return Status::invalid_input(
        message("sequence ", handle, " is unknown: indices are 0 to ", size() - 1));
  }
  // A free place has the generation of its next handle, so smaller ones have been released.
  const bool was_given =
      handle.generation != 0 && handle.generation < sequences_[handle.index].generation;
  return Status::invalid_input(
      message("sequence ", handle, was_given ? " was released" : " was never issued"));
}

Result<std::int32_t> SequenceTable::find_running(SequenceHandle handle) const {
  const Result<std::int32_t> index = find(handle);
  if (!index.is_ok()) return index;
  const SequenceState state = sequences_[index.value()].state;
  if (state == SequenceState::kRunning) return index;
  return Status::invalid_input(message("sequence ", handle, " is ", sequence_state_name(state)));
}

Result<std::int32_t> SequenceTable::find_in(SequenceHandle handle, SequenceState expected) const {
  const Result<std::int32_t> index = find(handle);
  if (!index.is_ok()) return index;
  const SequenceState state = sequences_[index.value()].state;
  if (state == expected) return index;
  return Status::invalid_input(message("sequence ", handle, " is ", sequence_state_name(state),
                                       "; expected ", sequence_state_name(expected)));
}

std::int32_t SequenceTable::open() {
  RECTO_CHECK_GT(num_free_, 0);
  const std::int32_t index = free_[--num_free_];
  used_end_ = std::max(used_end_, index + 1);
  Sequence opened{};
  opened.generation = sequences_[index].generation;
  opened.state = SequenceState::kRunning;
  opened.life = SequenceLife::kAlive;
  sequences_[index] = opened;
  details_[index] = {.keys = {}, .publishing = PrefixCaching::kOn, .next_in_transfer = -1};
  return index;
}

void SequenceTable::retire(std::int32_t index) {
  Sequence& retired = sequences_[index];
  RECTO_CHECK(retired.life == SequenceLife::kAlive);
  retired.life = SequenceLife::kReleased;
  retired.run_end = 0;
  if (++retired.generation == 0) retired.generation = 1;
}

void SequenceTable::close(std::int32_t index) {
  RECTO_CHECK(sequences_[index].life == SequenceLife::kReleased);
  sequences_[index].life = SequenceLife::kNone;
  free_[num_free_++] = index;
}

std::uint32_t SequenceTable::next_mark() {
  if (++mark_ == 0) {
    for (Sequence& sequence : sequences_.all()) sequence.mark = 0;
    mark_ = 1;
  }
  return mark_;
}

}  // namespace recto::cache

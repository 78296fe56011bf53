#include "cuda/cache/giving_back.h"

#include <string>

namespace recto::cache {
namespace {

// Checks that each group still has the tokens that the next row sees, and the block into which it
// writes.
Status check_windows(const CacheCore& core, std::int32_t sequence, std::int64_t length) {
  for (const std::int32_t group : core.geometry.window_groups()) {
    const std::int64_t needed = core.geometry.first_needed(group, length);
    const std::int64_t first = core.device.tables().first(sequence, group);
    if (first <= needed || core.geometry.blocks_for(length) <= needed) continue;
    return Status::invalid_input(
        "length " + std::to_string(length) + ": a row there sees tokens from " +
        std::to_string(core.geometry.visible(group, length).begin) + " on in group " +
        std::to_string(group) + ", which gave back those before " +
        std::to_string(core.geometry.slots_of(first).begin));
  }
  return Status::ok();
}

}  // namespace

void give_back_device(CacheCore& core, std::int32_t sequence) {
  Sequence& mine = core.sequences[sequence];
  core.cut_chain(sequence, 0);
  core.log.add(sequence, 0, mine.device.blocks);
  core.device.drop_behind(sequence, 0);
  mine.device.length = 0;
  mine.run_end = 0;
}

void give_back_host(CacheCore& core, std::int32_t sequence) {
  core.host.drop_behind(sequence, 0);
  core.sequences[sequence].host.length = 0;
}

Status truncate(CacheCore& core, SequenceHandle sequence, TokenCount length) {
  const Result<std::int32_t> index = core.sequences.find_running(sequence);
  if (!index.is_ok()) return index.status();
  Sequence& mine = core.sequences[index.value()];
  if (length.value() < 0 || length.value() > mine.device.length) {
    return Status::invalid_input("length " + std::to_string(length.value()) +
                                 "; expected 0 to the context of " +
                                 std::to_string(mine.device.length));
  }
  RECTO_RETURN_IF_ERROR(check_windows(core, index.value(), length.value()));
  const std::int64_t kept = core.geometry.blocks_for(length.value());
  core.log.add(index.value(), kept, mine.device.blocks);
  core.device.drop_behind(index.value(), kept);
  core.device.set_length(index.value(), length.value());
  core.cut_chain(index.value(), core.geometry.full_blocks(length.value()));
  core.stop_run(index.value());
  return Status::ok();
}

Status release(CacheCore& core, SequenceHandle sequence) {
  const Result<std::int32_t> index = core.sequences.find(sequence);
  if (!index.is_ok()) return index.status();
  const SequenceState state = core.sequences[index.value()].state;
  core.sequences.retire(index.value());
  const bool is_on_the_move =
      state == SequenceState::kSwappingOut || state == SequenceState::kSwappingIn;
  if (is_on_the_move) {  // `complete` gives back what it has
    core.log.add(index.value(), 0, core.sequences[index.value()].device.blocks);
    return Status::ok();
  }
  give_back_device(core, index.value());
  give_back_host(core, index.value());
  core.sequences.close(index.value());
  return Status::ok();
}

Status preempt(CacheCore& core, SequenceHandle sequence) {
  const Result<std::int32_t> index = core.sequences.find_running(sequence);
  if (!index.is_ok()) return index.status();
  give_back_device(core, index.value());
  core.sequences[index.value()].state = SequenceState::kPreempted;
  return Status::ok();
}

void reset_prefix_cache(CacheCore& core) {
  for (std::int32_t id = 0; id < core.index.max_nodes(); ++id) {
    if (!core.index.is_live(NodeId(id))) continue;
    for (std::int32_t group = 0; group < core.geometry.num_groups(); ++group) {
      const BlockId block = core.block_with(NodeId(id), group);
      if (block == kNoBlock) continue;
      core.device.forget(block);
      ++core.statistics.cleared;
    }
  }
  core.index.clear();
  core.pins.visit_used([&](std::int32_t index, const PinRecord&) { core.pins.close(index); });
  for (std::int32_t index = 0; index < core.sequences.used_end(); ++index) {
    Sequence& sequence = core.sequences[index];
    sequence.chain = kRoot;
    sequence.published = 0;
    core.sequences.details(index).publishing = PrefixCaching::kOff;
  }
  if (core.options.events != nullptr) core.options.events->on_cleared();
}

}  // namespace recto::cache

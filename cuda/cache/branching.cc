// Branching of sequences: parallel samples and beams.

#include <functional>
#include <span>
#include <utility>

#include "core/contract.h"
#include "cuda/cache/block_manager.h"
#include "cuda/cache/cache_core.h"
#include "cuda/cache/message.h"

namespace recto::cache {
namespace {

Status check_places(const CacheCore& core, std::int64_t needed, std::int64_t given_back) {
  const std::int64_t free = core.sequences.num_free();
  if (needed <= free + given_back) return Status::ok();
  return Status::exhausted(message("needs ", needed, " new sequences and gives ", given_back,
                                   " back; ", free, " of ", core.sequences.size(), " are free"));
}

// Precondition: a sequence is free.
SequenceHandle make_child(CacheCore& core, std::int32_t parent) {
  const std::int32_t child = core.sequences.open();
  const std::int64_t blocks = core.geometry.blocks_for(core.device.row(parent).length);
  core.device.share(parent, child, static_cast<std::int32_t>(blocks));
  core.prefix.share_chain(parent, child);
  core.sequences.log().add(child, 0, blocks);
  core.device.stop_run(parent);
  core.device.stop_run(child);
  return core.sequences.handle(child);
}

// Checks parents and beams, and counts each parent's children in scratch memory.
Status plan_beams(CacheCore& core, std::span<const SequenceHandle> parents,
                  std::span<const std::int32_t> parent_of) {
  const std::uint32_t mark = core.sequences.next_mark();
  for (const SequenceHandle& handle : parents) {
    const Result<std::int32_t> index = core.sequences.find_running(handle);
    if (!index.is_ok()) return index.status();
    if (std::exchange(core.sequences[index.value()].mark, mark) != mark) continue;
    return Status::invalid_input(
        message("sequence ", handle, " is listed twice among the parents"));
  }
  for (std::size_t i = 0; i < parents.size(); ++i)
    core.child_counts[static_cast<std::int64_t>(i)] = 0;
  std::int64_t continued = 0;
  for (std::size_t beam = 0; beam < parent_of.size(); ++beam) {
    const std::int32_t parent = parent_of[beam];
    if (parent < 0 || parent >= std::ssize(parents)) {
      return Status::invalid_input(message("beam ", beam, " continues parent ", parent,
                                           "; expected one of the ", parents.size()));
    }
    if (core.child_counts[parent]++ == 0) ++continued;
  }
  return check_places(core, std::ssize(parent_of) - continued, std::ssize(parents) - continued);
}

// Parents are often the previous result, which is still being read while the next one is written.
std::span<SequenceHandle> answer_beside(CacheCore& core, std::span<const SequenceHandle> parents) {
  const std::span<SequenceHandle> all = core.beams.all();
  const std::span<SequenceHandle> first = all.first(all.size() / 2);
  const std::less<const SequenceHandle*> before;
  const bool is_first =
      !before(parents.data(), first.data()) && before(parents.data(), first.data() + first.size());
  return is_first ? all.subspan(first.size()) : first;
}

}  // namespace

Result<SequenceHandle> BlockManager::fork(SequenceHandle parent) {
  const Result<std::int32_t> index = core_->sequences.find_running(parent);
  if (!index.is_ok()) return index.status().in("fork");
  RECTO_RETURN_IF_ERROR(check_places(*core_, 1, 0).in("fork"));
  return make_child(*core_, index.value());
}

Result<std::span<const SequenceHandle>> BlockManager::beam_step(
    std::span<const SequenceHandle> parents, std::span<const std::int32_t> parent_of) {
  RECTO_RETURN_IF_ERROR(plan_beams(*core_, parents, parent_of).in("beam step"));
  const std::span<SequenceHandle> beams = answer_beside(*core_, parents);
  for (std::int64_t i = 0; i < std::ssize(parents); ++i) {
    if (core_->child_counts[i] > 0) continue;
    RECTO_CHECK_EQ(release(parents[static_cast<std::size_t>(i)]), Status::ok());
  }
  for (std::size_t beam = 0; beam < parent_of.size(); ++beam) {
    const SequenceHandle handle = parents[static_cast<std::size_t>(parent_of[beam])];
    // Negative after the first child has taken the parent's place.
    std::int32_t& children = core_->child_counts[parent_of[beam]];
    beams[beam] = children > 0 ? handle : make_child(*core_, handle.index);
    children = -1;
  }
  return std::span<const SequenceHandle>(beams.first(parent_of.size()));
}

}  // namespace recto::cache

#include "cuda/cache/branching.h"

#include <functional>
#include <string>

#include "core/contract.h"
#include "cuda/cache/giving_back.h"

namespace recto::cache {
namespace {

Status check_places(const CacheCore& core, std::int64_t needed, std::int64_t given_back) {
  const std::int64_t free = core.sequences.num_free();
  if (needed <= free + given_back) return Status::ok();
  return Status::exhausted("needs " + std::to_string(needed) + " new sequences and gives " +
                           std::to_string(given_back) + " back; " + std::to_string(free) + " of " +
                           std::to_string(core.sequences.size()) + " are free");
}

// There must be a free sequence.
SequenceHandle make_child(CacheCore& core, std::int32_t parent) {
  const std::int32_t child = core.sequences.open();
  const Sequence& from = core.sequences[parent];
  Sequence& to = core.sequences[child];
  const std::int64_t blocks = core.geometry.blocks_for(from.device.length);
  core.device.share(parent, child, static_cast<std::int32_t>(blocks));
  to.published = from.published;
  to.committed = from.committed;
  to.chain = from.chain;
  core.index.add_user(to.chain);
  core.sequences.details(child) = core.sequences.details(parent);
  core.log.add(child, 0, blocks);
  core.stop_run(parent);
  core.stop_run(child);
  return core.sequences.handle(child);
}

// Parents and their children, checked; counts children in scratch memory.
class BeamPlan {
 public:
  explicit BeamPlan(CacheCore& core) : core_(&core) {}

  Status make(std::span<const SequenceHandle> parents, std::span<const std::int32_t> parent_of) {
    const std::uint32_t mark = core_->sequences.next_mark();
    for (const SequenceHandle& handle : parents) {
      const Result<std::int32_t> index = core_->sequences.find_running(handle);
      if (!index.is_ok()) return index.status();
      std::uint32_t& met = core_->sequences[index.value()].mark;
      if (met == mark) {
        return Status::invalid_input("sequence " + internal::describe(handle) +
                                     " stands twice among the parents");
      }
      met = mark;
    }
    RECTO_RETURN_IF_ERROR(check_beams(std::ssize(parents), parent_of));
    for (std::int64_t i = 0; i < std::ssize(parents); ++i) core_->scratch.child_counts[i] = 0;
    std::int64_t continued = 0;
    for (const std::int32_t parent : parent_of) {
      if (core_->scratch.child_counts[parent]++ == 0) ++continued;
    }
    return check_places(*core_, std::ssize(parent_of) - continued, std::ssize(parents) - continued);
  }

 private:
  Status check_beams(std::int64_t num_parents, std::span<const std::int32_t> parent_of) const {
    for (std::size_t beam = 0; beam < parent_of.size(); ++beam) {
      if (parent_of[beam] >= 0 && parent_of[beam] < num_parents) continue;
      return Status::invalid_input("beam " + std::to_string(beam) + " continues parent " +
                                   std::to_string(parent_of[beam]) + "; expected one of the " +
                                   std::to_string(num_parents));
    }
    return Status::ok();
  }

  CacheCore* core_;
};

// Parents are often the previous result, which is still read while the next one is written.
std::span<SequenceHandle> answer_beside(CacheCore& core, std::span<const SequenceHandle> parents) {
  const std::span<SequenceHandle> all = core.scratch.beams.all();
  const std::span<SequenceHandle> first = all.first(all.size() / 2);
  const std::less<const SequenceHandle*> before;
  const bool is_first =
      !before(parents.data(), first.data()) && before(parents.data(), first.data() + first.size());
  return is_first ? all.subspan(first.size()) : first;
}

}  // namespace

Result<SequenceHandle> fork(CacheCore& core, SequenceHandle parent) {
  const Result<std::int32_t> index = core.sequences.find_running(parent);
  if (!index.is_ok()) return index.status();
  RECTO_RETURN_IF_ERROR(check_places(core, 1, 0));
  return make_child(core, index.value());
}

Result<std::span<const SequenceHandle>> beam_step(CacheCore& core,
                                                  std::span<const SequenceHandle> parents,
                                                  std::span<const std::int32_t> parent_of) {
  RECTO_RETURN_IF_ERROR(BeamPlan(core).make(parents, parent_of));
  const std::span<SequenceHandle> beams = answer_beside(core, parents);
  for (std::int64_t i = 0; i < std::ssize(parents); ++i) {
    if (core.scratch.child_counts[i] > 0) continue;
    const Status released = release(core, parents[static_cast<std::size_t>(i)]);
    RECTO_CHECK_EQ(released, Status::ok());
  }
  for (std::int64_t beam = 0; beam < std::ssize(parent_of); ++beam) {
    const std::int32_t parent = parent_of[static_cast<std::size_t>(beam)];
    const SequenceHandle handle = parents[static_cast<std::size_t>(parent)];
    // Negative once the first child has taken the parent's place.
    std::int32_t& children = core.scratch.child_counts[parent];
    beams[static_cast<std::size_t>(beam)] = children > 0 ? handle : make_child(core, handle.index);
    children = -1;
  }
  return std::span<const SequenceHandle>(beams.first(parent_of.size()));
}

}  // namespace recto::cache

// What steps of a thread block do.

#include <algorithm>
#include <bit>
#include <cstring>

#include "verify/ptx/machine/memory_steps.h"
#include "verify/ptx/machine/system_calls.h"
#include "verify/ptx/machine/thread_block.h"
#include "verify/ptx/machine/undefined_registers.h"

namespace recto::ptx {

Next ThreadBlock::act(std::size_t group, const WarpStep& at) {
  const Step& step = at.step;
  if (step.action == Action::kBranch) return branch(group, at);
  if (step.action == Action::kBranchTable) return branch_by_table(group, at);
  if (at.lanes == 0) return Next::kStep;
  switch (step.action) {
    case Action::kExit:
      return exit(group, at);
    case Action::kBarrier:
      return barriers_.arrive(group, at, detail_of(step));
    case Action::kClusterWait:
      return wait_at_cluster(group, at);
    case Action::kMbarrier: {
      const MbarrierMode mode = detail_of(step).mbarrier.mode;
      if (mode == MbarrierMode::kTest || mode == MbarrierMode::kTry) {
        return wait_at_mbarrier(group, at);
      }
      break;
    }
    case Action::kWarpBarrier:
    case Action::kShuffle:
    case Action::kVote:
    case Action::kMatch:
    case Action::kReduce:
    case Action::kElect:
    case Action::kLoadMatrix:
    case Action::kStoreMatrix:
    case Action::kMatrixProduct:
    case Action::kWarpgroupFence:
    case Action::kWarpgroupProduct:
    case Action::kWarpgroupCommit:
    case Action::kWarpgroupWait:
      return meet(group, at);
    default:
      break;
  }
  if (!execute(at)) return Next::kEnded;
  if (step.is_tracked) pass_undefined(program_, at);
  return Next::kStep;
}

// Steps that lanes execute without a look at others. False if the kernel cannot go on.
bool ThreadBlock::execute(const WarpStep& at) {
  const Step& step = at.step;
  switch (step.action) {
    case Action::kLanes:
      if (at.lanes == at.warp.live) {
        step.lanes(at.warp.registers, step);
      } else {
        run_masked(at);
      }
      return true;
    case Action::kLoad:
      return load(memory_, at, detail_of(step));
    case Action::kStore:
      return store(memory_, at, detail_of(step));
    case Action::kAtomic:
      return atomic(memory_, at, detail_of(step));
    case Action::kClusterArrive:
      return arrive_at_cluster(at);
    case Action::kTrap:
      reporter_.abandon(Check::kAssertion, at.warp.thread(at.first_lane()), step,
                        "stops the kernel");
      return false;
    case Action::kFence:
      pass_fence(at);
      return true;
    case Action::kActiveMask:
      for_each_lane_of(at.lanes,
                       [&](unsigned lane) { at.warp.row<std::uint32_t>(step.d)[lane] = at.lanes; });
      return true;
    case Action::kClock:
      tell_time(at);
      return true;
    case Action::kPrint:
      print(memory_, at, detail_of(step));
      return true;
    case Action::kAssert:
      fail_assertion(memory_, at, detail_of(step));
      return false;
    default:
      return execute_async(at);
  }
}

bool ThreadBlock::execute_async(const WarpStep& at) {
  const Step& step = at.step;
  switch (step.action) {
    case Action::kAsyncCopy:
      return copies_.copy(at, detail_of(step));
    case Action::kAsyncCommit:
      copies_.commit(at);
      return true;
    case Action::kAsyncWait:
      copies_.wait(at, detail_of(step));
      return true;
    case Action::kBulkCopy:
      return copies_.copy_bulk(at, detail_of(step));
    case Action::kBulkCommit:
      copies_.commit_bulk(at);
      return true;
    case Action::kBulkWait:
      copies_.wait_bulk(at, detail_of(step));
      return true;
    case Action::kMbarrier:
      return detail_of(step).mbarrier.mode == MbarrierMode::kCopyArrive
                 ? copies_.arrive(at, detail_of(step))
                 : operate(memory_, at, detail_of(step));
    default:
      return true;
  }
}

Next ThreadBlock::branch(std::size_t index, const WarpStep& at) {
  Warp::Group& group = at.warp.groups[index];
  const LaneMask lanes = group.lanes;
  const std::uint32_t after = index_of(at.step) + 1;
  LaneMask apart = at.lanes;  // those that leave the group
  std::uint32_t apart_step = at.step.target;
  std::uint32_t own_step = after;
  if (apart == lanes || apart == 0) {
    // Nothing forces lanes that agree to go on together.
    own_step = apart_step = apart == 0 ? after : at.step.target;
    const bool parts = run_.options.schedule.policy == SchedulePolicy::kRandomThread &&
                       at.step.join != kNoStep && random_.next_below(8) == 0;
    apart = parts ? lanes & static_cast<LaneMask>(random_.next_u64()) : 0;
    if (apart == 0 || apart == lanes) {
      group.step = own_step;
      return Next::kMoved;
    }
  }
  const Warp::Part parts[] = {{own_step, lanes & ~apart}, {apart_step, apart}};
  at.warp.part(index, at.step.join, parts);
  // The scheduler chooses which of the two goes on.
  return Next::kBlocked;
}

Next ThreadBlock::branch_by_table(std::size_t index, const WarpStep& at) {
  const std::vector<std::uint32_t>& targets = detail_of(at.step).targets;
  const std::uint32_t* const entries = at.warp.row<std::uint32_t>(at.step.a);
  std::vector<Warp::Part> parts;
  for (LaneMask left = at.warp.groups[index].lanes; left != 0; left &= left - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(left));
    const bool is_enabled = (at.lanes >> lane & 1) != 0;
    if (is_enabled && entries[lane] >= targets.size()) {
      reporter_.abandon(Check::kRefused, at.warp.thread(lane), at.step,
                        "branches to entry " + std::to_string(entries[lane]) + " of " +
                            std::to_string(targets.size()));
      return Next::kEnded;
    }
    const std::uint32_t to = is_enabled ? targets[entries[lane]] : index_of(at.step) + 1;
    auto part = std::find_if(parts.begin(), parts.end(),
                             [&](const Warp::Part& known) { return known.step == to; });
    if (part == parts.end()) part = parts.insert(part, {to, 0});
    part->lanes |= LaneMask{1} << lane;
  }
  if (parts.size() == 1) {
    at.warp.groups[index].step = parts[0].step;
    return Next::kMoved;
  }
  at.warp.part(index, at.step.join, parts);
  return Next::kBlocked;
}

Next ThreadBlock::exit(std::size_t index, const WarpStep& at) {
  copies_.exit(at);
  warpgroups_.exit(at);
  const bool goes_on = at.warp.exit(index, at.lanes);
  complete_meetings(at.warp);
  barriers_.exit(static_cast<std::uint32_t>(std::popcount(at.lanes)));
  cluster_->exit(cluster_lanes(at));
  ++run_.progress;
  if (has_finished()) {
    copies_.check_ends(at);
    memory_.end();
    warpgroups_.check_ends(at.step);
  }
  return goes_on ? Next::kMoved : Next::kEnded;
}

// A wait may end before the phase does: in half of the schedules, at any time, and when nothing
// else can go on.
Next ThreadBlock::wait_at_mbarrier(std::size_t index, const WarpStep& at) {
  const bool is_hasty = (run_.options.schedule.seed & 1) != 0 && random_.next_below(2) == 0;
  const std::optional<LaneMask> ended = lanes_of_ended_phases(
      memory_, at, detail_of(at.step), is_hasty ? Patience::kLooks : Patience::kWaits);
  if (!ended) return Next::kEnded;
  Warp::Group& group = at.warp.groups[index];
  if (*ended == 0 && !group.has_expired && !is_hasty) {
    at.warp.wait(index, at.lanes, Warp::Wait::kMbarrier, memory_.mbarriers().num_ended());
    return Next::kBlocked;
  }
  group.has_expired = false;
  at.warp.set_mask(at.step.d, at.lanes, *ended);
  if (at.step.is_tracked) pass_undefined(program_, at);
  return Next::kStep;
}

bool ThreadBlock::arrive_at_cluster(const WarpStep& at) {
  BlockChecker* const checker = memory_.checker();
  const bool is_relaxed = detail_of(at.step).ordering == Ordering::kRelaxed;
  if (checker != nullptr &&
      (!is_relaxed || checker->has_fenced(at.warp.number, at.lanes, BlockChecker::Scope::kGrid))) {
    checker->release({at.warp.number, at.lanes, at.warp.live}, cluster_->arriving());
  }
  const std::uint32_t num_ended = cluster_->num_ended();
  const std::string problem = cluster_->arrive(cluster_lanes(at));
  run_.progress += cluster_->num_ended() - num_ended;
  if (problem.empty()) return true;
  reporter_.abandon(Check::kBarrierDivergence, at.warp.thread(at.first_lane()), at.step, problem);
  return false;
}

Next ThreadBlock::wait_at_cluster(std::size_t index, const WarpStep& at) {
  const std::string problem = cluster_->why_no_wait(cluster_lanes(at));
  if (!problem.empty()) {
    reporter_.abandon(Check::kBarrierDivergence, at.warp.thread(at.first_lane()), at.step, problem);
    return Next::kEnded;
  }
  if (!cluster_->pass(cluster_lanes(at))) {
    at.warp.wait(index, at.lanes, Warp::Wait::kClusterBarrier, cluster_->num_ended());
    return Next::kBlocked;
  }
  if (memory_.checker() != nullptr) {
    memory_.checker()->acquire(at.warp.number, cluster_->ended());
    if (at.lanes == at.warp.live) memory_.checker()->pass_warp_barrier(at.warp.number, kAllLanes);
  }
  return Next::kStep;
}

void ThreadBlock::pass_fence(const WarpStep& at) {
  BlockChecker* const checker = memory_.checker();
  if (checker == nullptr) return;
  const Detail& detail = detail_of(at.step);
  if (detail.is_proxy) {
    checker->pass_proxy_fence(at.warp.number, at.lanes);
  } else {
    using Scope = BlockChecker::Scope;
    checker->pass_fence(at.warp.number, at.lanes,
                        detail.is_of_block ? Scope::kBlock : Scope::kGrid);
  }
}

// Clocks count the thread block's steps.
void ThreadBlock::tell_time(const WarpStep& at) const {
  const std::uint64_t now = steps_taken_ + 1;
  for_each_lane_of(at.lanes, [&](unsigned lane) {
    std::memcpy(at.warp.registers + at.step.d + lane * at.step.d_width, &now, at.step.d_width);
  });
}

}  // namespace recto::ptx

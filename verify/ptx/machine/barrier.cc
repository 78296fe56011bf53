// Barriers of a thread block.

#include <algorithm>
#include <bit>

#include "verify/ptx/machine/thread_block.h"

namespace recto::ptx {

ThreadBlock::Next ThreadBlock::arrive_at_barrier(Warp& warp, std::size_t index, const Step& step,
                                                 LaneMask lanes) {
  const Detail& detail = program_.details[step.detail];
  Group& group = warp.groups[index];
  const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
  const std::uint32_t number = row<std::uint32_t>(warp, step.a)[lane];
  const std::uint32_t count = row<std::uint32_t>(warp, step.b)[lane];
  if (number >= kBarriers) {
    report(Check::kRefused, warp, lane, step, "uses barrier " + std::to_string(number));
    return Next::kEnded;
  }
  Barrier& barrier = barriers_[number];
  const bool waits = detail.barrier != BarrierMode::kArrive;
  if ((barrier.arrived[warp.number] & lanes) != 0) {
    report(Check::kBarrierDivergence, warp, lane, step,
           "arrives at barrier " + std::to_string(number) + " again before it is complete");
    return Next::kEnded;
  }
  if (barrier.is_used && barrier.count != count) {
    Finding found = finding(
        Check::kBarrierDivergence, warp, lane, step,
        "expects " + std::to_string(count) + " threads at barrier " + std::to_string(number));
    found.other_place = run_.code_place(barrier.place);
    found.other_what = "expects " + std::to_string(barrier.count);
    run_.report(std::move(found));
    abandon();
    return Next::kEnded;
  }
  if (detail.is_aligned && is_elsewhere(warp, index, step, number)) return Next::kEnded;
  if (!barrier.is_used) {
    barrier.is_used = true;
    barrier.count = count;
    barrier.place = step.place;
    barrier.population = 0;
    barrier.all = true;
    barrier.any = false;
  }
  barrier.arrived[warp.number] |= lanes;
  if (waits) barrier.waiting[warp.number] |= lanes;
  if (!detail.uses.empty()) add_predicates(barrier, mask_at(warp, detail.uses[0]), lanes);
  Next next = Next::kStep;
  if (waits) {
    if (lanes != group.lanes) {  // lanes without the guard go on
      warp.groups.push_back({group.step + 1, group.lanes & ~lanes, group.node});
      warp.groups[index].lanes = lanes;
    }
    warp.groups[index].wait = Wait::kBarrier;
    warp.groups[index].barrier = number;
    next = Next::kBlocked;
  }
  if (is_complete(barrier)) {
    release_barrier(number);
    // Nobody else runs yet, so the group may go on at once.
    if (waits && warp.groups.size() == 1 && !is_abandoned_) next = Next::kMoved;
  }
  return next;
}

void ThreadBlock::add_predicates(Barrier& barrier, LaneMask truths, LaneMask lanes) {
  barrier.population += static_cast<std::uint32_t>(std::popcount(truths & lanes));
  barrier.all &= (truths & lanes) == lanes;
  barrier.any |= (truths & lanes) != 0;
}

// Lanes of a warp that come to an aligned barrier one after another come to the same one.
bool ThreadBlock::is_elsewhere(const Warp& warp, std::size_t index, const Step& step,
                               std::uint32_t number) {
  for (const Group& other : warp.groups) {
    if (other.wait != Wait::kBarrier || other.barrier != number ||
        other.step == warp.groups[index].step) {
      continue;
    }
    const auto lane = static_cast<unsigned>(std::countr_zero(warp.groups[index].lanes));
    Finding found = finding(Check::kBarrierDivergence, warp, lane, step, "waits at a barrier");
    found.other_thread = thread_place(warp, static_cast<unsigned>(std::countr_zero(other.lanes)));
    found.other_place = run_.code_place(program_.steps[other.step].place);
    found.other_what = "waits at another";
    run_.report(std::move(found));
    abandon();
    return true;
  }
  return false;
}

// Warps that have arrived as a whole count 32 threads, however many they have.
bool ThreadBlock::is_complete(const Barrier& barrier) const {
  if (!barrier.is_used) return false;
  std::uint32_t arrived = 0;
  bool is_all = true;
  for (const Warp& warp : warps_) {
    const LaneMask lanes = barrier.arrived[warp.number];
    const bool is_whole = lanes != 0 && (lanes & warp.live) == warp.live;
    arrived += is_whole ? kWarpSize : static_cast<std::uint32_t>(std::popcount(lanes));
    is_all &= (lanes & warp.live) == warp.live;
  }
  return barrier.count == 0 ? is_all : arrived >= barrier.count;
}

void ThreadBlock::complete_barriers() {
  for (std::uint32_t i = 0; i < kBarriers; ++i) {
    if (is_complete(barriers_[i])) release_barrier(i);
  }
}

void ThreadBlock::release_barrier(std::uint32_t number) {
  Barrier& barrier = barriers_[number];
  if (checker_) checker_->pass_barrier(barrier.arrived, barrier.waiting);
  if (barrier.count == 0 && exited_ != 0 && !run_.options.allows_exit_before_barrier) {
    for (const Warp& warp : warps_) {
      const LaneMask lanes = barrier.waiting[warp.number];
      if (lanes == 0) continue;
      Finding found;
      found.check = Check::kExitBeforeBarrier;
      found.kernel = program_.kernel;
      found.thread = thread_place(warp, static_cast<unsigned>(std::countr_zero(lanes)));
      found.place = run_.code_place(barrier.place);
      found.what = "waits at a barrier, " + std::to_string(exited_) + " threads have exited";
      run_.report(std::move(found));
      break;
    }
  }
  for (Warp& warp : warps_) {
    for (Group& group : warp.groups) {
      if (group.wait != Wait::kBarrier || group.barrier != number) continue;
      const Step& step = program_.steps[group.step];
      const Detail& detail = program_.details[step.detail];
      if (!detail.defs.empty()) {
        const bool truth = detail.barrier == BarrierMode::kAnd ? barrier.all : barrier.any;
        if (detail.width == kPredicateWidth) {
          LaneMask& d = mask_at(warp, detail.defs[0]);
          d = (d & ~group.lanes) | (truth ? group.lanes : 0);
        } else {
          for_each_lane_of(group.lanes, [&](unsigned lane) {
            row<std::uint32_t>(warp, detail.defs[0])[lane] = barrier.population;
          });
        }
      }
      group.wait = Wait::kNone;
      ++group.step;
    }
  }
  barrier.is_used = false;
  std::fill(barrier.arrived.begin(), barrier.arrived.end(), 0);
  std::fill(barrier.waiting.begin(), barrier.waiting.end(), 0);
}

}  // namespace recto::ptx

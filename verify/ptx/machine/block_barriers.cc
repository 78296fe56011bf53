#include "verify/ptx/machine/block_barriers.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "verify/ptx/machine/undefined_registers.h"

namespace recto::ptx {

void BlockBarriers::begin() {
  exited_ = 0;
  for (Barrier& barrier : barriers_) {
    barrier.arrived.assign(warps_.size(), 0);
    barrier.waiting.assign(warps_.size(), 0);
    barrier.is_used = false;
  }
}

bool BlockBarriers::may_arrive(std::size_t group, const WarpStep& at, const Detail& detail,
                               std::uint32_t number) {
  Reporter& reporter = memory_.reporter();
  const std::uint32_t thread = at.warp.thread(at.first_lane());
  if (number >= kBarriers) {
    reporter.abandon(Check::kRefused, thread, at.step, "uses barrier " + std::to_string(number));
    return false;
  }
  const Barrier& barrier = barriers_[number];
  const std::uint32_t count = at.warp.row<std::uint32_t>(at.step.b)[at.first_lane()];
  if (count % kWarpSize != 0) {
    reporter.abandon(Check::kBarrierDivergence, thread, at.step,
                     "expects " + std::to_string(count) + " threads at barrier " +
                         std::to_string(number) + ", which is no multiple of 32");
    return false;
  }
  if ((barrier.arrived[at.warp.number] & at.lanes) != 0) {
    reporter.abandon(
        Check::kBarrierDivergence, thread, at.step,
        "arrives at barrier " + std::to_string(number) + " again before it is complete");
    return false;
  }
  if (barrier.is_used && barrier.count != count) {
    Finding found = reporter.finding(
        Check::kBarrierDivergence, thread, at.step,
        "expects " + std::to_string(count) + " threads at barrier " + std::to_string(number));
    found.other_place = memory_.run().code_place(barrier.place);
    found.other_what = "expects " + std::to_string(barrier.count);
    reporter.abandon(std::move(found));
    return false;
  }
  return !detail.is_aligned || !is_elsewhere(group, at, number);
}

Next BlockBarriers::arrive(std::size_t group, const WarpStep& at, const Detail& detail) {
  Warp& warp = at.warp;
  const std::uint32_t number = warp.row<std::uint32_t>(at.step.a)[at.first_lane()];
  if (!may_arrive(group, at, detail, number)) return Next::kEnded;
  Barrier& barrier = barriers_[number];
  if (!barrier.is_used) {
    barrier.is_used = true;
    barrier.count = warp.row<std::uint32_t>(at.step.b)[at.first_lane()];
    barrier.place = at.step.place;
    barrier.population = 0;
    barrier.all = true;
    barrier.any = false;
  }
  const bool waits = detail.barrier != BarrierMode::kArrive;
  barrier.arrived[warp.number] |= at.lanes;
  if (waits) barrier.waiting[warp.number] |= at.lanes;
  if (!detail.uses.empty()) {
    const LaneMask truths = warp.mask_at(detail.uses[0]) & at.lanes;
    barrier.population += static_cast<std::uint32_t>(std::popcount(truths));
    barrier.all &= truths == at.lanes;
    barrier.any |= truths != 0;
  }
  if (waits) warp.wait(group, at.lanes, Warp::Wait::kBarrier, number);
  const bool is_last = is_complete(barrier);
  if (is_last) release(number);
  if (!waits) return Next::kStep;
  // No other group of the warp exists, so this one may go on at once.
  return is_last && warp.groups.size() == 1 ? Next::kMoved : Next::kBlocked;
}

// Lanes of a warp that come to an aligned barrier one after another come to the same one.
bool BlockBarriers::is_elsewhere(std::size_t group, const WarpStep& at, std::uint32_t number) {
  for (const Warp::Group& other : at.warp.groups) {
    if (other.wait != Warp::Wait::kBarrier || other.barrier != number ||
        other.step == at.warp.groups[group].step) {
      continue;
    }
    Reporter& reporter = memory_.reporter();
    Finding found = reporter.finding(Check::kBarrierDivergence, at.warp.thread(at.first_lane()),
                                     at.step, "waits at a barrier");
    const auto lane = static_cast<unsigned>(std::countr_zero(other.lanes));
    found.other_thread = reporter.thread_place(at.warp.thread(lane));
    const LaunchRun& run = memory_.run();
    found.other_place = run.code_place(run.program.steps[other.step].place);
    found.other_what = "waits at another";
    reporter.abandon(std::move(found));
    return true;
  }
  return false;
}

// Warps that have arrived as a whole count 32 threads, however many they have.
bool BlockBarriers::is_complete(const Barrier& barrier) const {
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

void BlockBarriers::exit(std::uint32_t threads) {
  exited_ += threads;
  for (std::uint32_t i = 0; i < kBarriers; ++i) {
    if (is_complete(barriers_[i])) release(i);
  }
}

void BlockBarriers::release(std::uint32_t number) {
  Barrier& barrier = barriers_[number];
  if (memory_.checker() != nullptr) {
    memory_.checker()->pass_barrier(barrier.arrived, barrier.waiting);
  }
  report_exits(barrier);
  for (Warp& warp : warps_) {
    for (Warp::Group& group : warp.groups) {
      if (group.wait != Warp::Wait::kBarrier || group.barrier != number) continue;
      give_results(barrier, warp, group);
      group.wait = Warp::Wait::kNone;
      ++group.step;
    }
  }
  barrier.is_used = false;
  std::fill(barrier.arrived.begin(), barrier.arrived.end(), 0);
  std::fill(barrier.waiting.begin(), barrier.waiting.end(), 0);
  ++memory_.run().progress;
}

void BlockBarriers::give_results(const Barrier& barrier, Warp& warp,
                                 const Warp::Group& group) const {
  const Program& program = memory_.run().program;
  const Step& step = program.steps[group.step];
  const Detail& detail = program.details[step.detail];
  if (detail.defs.empty()) return;
  if (step.is_tracked) pass_undefined(program, {warp, step, group.lanes});
  if (detail.width == kPredicateWidth) {
    const bool truth = detail.barrier == BarrierMode::kAnd ? barrier.all : barrier.any;
    warp.set_mask(detail.defs[0], group.lanes, truth ? kAllLanes : 0);
    return;
  }
  for_each_lane_of(group.lanes, [&](unsigned lane) {
    warp.row<std::uint32_t>(detail.defs[0])[lane] = barrier.population;
  });
}

void BlockBarriers::report_exits(const Barrier& barrier) {
  if (barrier.count != 0 || exited_ == 0) return;
  for (const Warp& warp : warps_) {
    const LaneMask lanes = barrier.waiting[warp.number];
    if (lanes == 0) continue;
    Reporter& reporter = memory_.reporter();
    Finding found;
    found.check = Check::kExitBeforeBarrier;
    found.kernel = memory_.run().program.kernel;
    found.thread =
        reporter.thread_place(warp.thread(static_cast<unsigned>(std::countr_zero(lanes))));
    found.place = memory_.run().code_place(barrier.place);
    found.what = "waits at a barrier, " + std::to_string(exited_) + " threads have exited";
    reporter.report(std::move(found));
    return;
  }
}

}  // namespace recto::ptx

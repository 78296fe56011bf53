// What steps do that are no branches.

#include <bit>
#include <cstring>

#include "verify/ptx/machine/thread_block.h"

namespace recto::ptx {

ThreadBlock::Next ThreadBlock::act(Warp& warp, std::size_t index, const Step& step,
                                   LaneMask lanes) {
  const auto next = [](bool goes_on) { return goes_on ? Next::kStep : Next::kEnded; };
  if (step.action == Action::kBranch) return branch(warp, index, step, lanes);
  if (step.action == Action::kBranchTable) return branch_by_table(warp, index, step, lanes);
  if (lanes == 0) return Next::kStep;
  switch (step.action) {
    case Action::kLanes:
      if (lanes == warp.live) {
        step.lanes(warp.registers, step);
      } else {
        run_masked(warp, step, lanes);
      }
      if (step.is_tracked) pass_undefined(warp, step, lanes);
      return Next::kStep;
    case Action::kLoad:
      return next(load(warp, step, lanes));
    case Action::kStore:
      return next(store(warp, step, lanes));
    case Action::kAtomic:
      return next(atomic(warp, step, lanes));
    case Action::kAsyncCopy:
      return next(begin_copies(warp, step, lanes));
    case Action::kAsyncCommit:
      for_each_lane_of(lanes, [&](unsigned lane) { ++warp.copies[lane].committed; });
      return Next::kStep;
    case Action::kAsyncWait:
      finish_copies(warp, step, lanes);
      return Next::kStep;
    case Action::kExit:
      return exit(warp, index, step, lanes);
    case Action::kTrap:
      report(Check::kAssertion, warp, static_cast<unsigned>(std::countr_zero(lanes)), step,
             "stops the kernel");
      return Next::kEnded;
    case Action::kBarrier:
      return arrive_at_barrier(warp, index, step, lanes);
    case Action::kFence:
      pass_fence(warp, step, lanes);
      return Next::kStep;
    case Action::kActiveMask:
      for_each_lane_of(lanes,
                       [&](unsigned lane) { row<std::uint32_t>(warp, step.d)[lane] = lanes; });
      return Next::kStep;
    case Action::kClock:
      tell_time(warp, step, lanes);
      return Next::kStep;
    case Action::kPrint:
      return next(print(warp, step, lanes));
    case Action::kAssert:
      fail_assertion(warp, step, lanes);
      return Next::kEnded;
    case Action::kNothing:
      return Next::kStep;
    default:
      return meet(warp, index, step, lanes);
  }
}

// Clocks count the thread block's steps.
void ThreadBlock::tell_time(Warp& warp, const Step& step, LaneMask lanes) {
  const std::uint64_t now = steps_taken_ + 1;
  for_each_lane_of(lanes, [&](unsigned lane) {
    std::memcpy(warp.registers + step.d + lane * step.d_width, &now, step.d_width);
  });
}

// Fences for the threads of a block alone order nothing that is checked.
void ThreadBlock::pass_fence(const Warp& warp, const Step& step, LaneMask lanes) {
  const bool is_for_block = program_.details[step.detail].is_aligned;
  if (checker_ && !is_for_block) checker_->pass_fence(warp.number, lanes);
}

}  // namespace recto::ptx

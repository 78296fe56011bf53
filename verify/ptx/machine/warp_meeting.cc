// Instructions in which lanes of a warp meet.

#include <algorithm>
#include <bit>
#include <cstring>

#include "verify/ptx/arithmetic/mma.h"
#include "verify/ptx/machine/exchange.h"
#include "verify/ptx/machine/memory_steps.h"
#include "verify/ptx/machine/thread_block.h"
#include "verify/ptx/machine/undefined_registers.h"

namespace recto::ptx {
namespace {

constexpr std::size_t kMmaRegistersMax = 12;  // of A, B and C

// .aligned instructions have no mask: all lanes of the warp take part.
bool is_collective(Action action) {
  switch (action) {
    case Action::kMatrixProduct:
    case Action::kLoadMatrix:
    case Action::kStoreMatrix:
    case Action::kWarpgroupFence:
    case Action::kWarpgroupProduct:
    case Action::kWarpgroupCommit:
    case Action::kWarpgroupWait:
      return true;
    default:
      return false;
  }
}

LaneMask lanes_that_name(LaneMask mask, const std::array<LaneMask, kWarpSize>& masks) {
  LaneMask lanes = 0;
  for (unsigned lane = 0; lane < kWarpSize; ++lane) {
    lanes |= LaneMask{masks[lane] == mask} << lane;
  }
  return lanes;
}

// Those of `present` whose masks' live lanes are all present and name the same lanes.
LaneMask ready_lanes(const std::array<LaneMask, kWarpSize>& masks, LaneMask present,
                     LaneMask live) {
  LaneMask ready = 0;
  for (LaneMask left = present; left != 0;) {
    const LaneMask mask = masks[static_cast<unsigned>(std::countr_zero(left))];
    const LaneMask same = present & lanes_that_name(mask, masks);
    if ((mask & live & ~same) == 0) ready |= same;
    left &= ~same;
  }
  return ready;
}

}  // namespace

// Lanes that take part, as each lane says.
ThreadBlock::LaneMasks ThreadBlock::masks_of(const Warp& warp, const Step& step) const {
  LaneMasks masks;
  if (is_collective(step.action)) {
    masks.fill(kAllLanes);
  } else {
    const bool is_barrier = step.action == Action::kWarpBarrier;
    std::copy_n(warp.row<LaneMask>(is_barrier ? step.a : detail_of(step).uses[0]), kWarpSize,
                masks.begin());
  }
  return masks;
}

Next ThreadBlock::meet(std::size_t index, const WarpStep& at) {
  const LaneMasks masks = masks_of(at.warp, at.step);
  LaneMask common = kAllLanes;
  for (const LaneMask mask : masks) common &= mask;
  for (LaneMask left = common == kAllLanes ? 0 : at.lanes; left != 0; left &= left - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(left));
    const LaneMask others = masks[lane] & at.lanes & ~lanes_that_name(masks[lane], masks);
    const bool is_member = (masks[lane] >> lane & 1) != 0;
    if (is_member && others == 0) continue;
    reporter_.abandon(Check::kWarpMask, at.warp.thread(lane), at.step,
                      is_member ? "has lane " + std::to_string(std::countr_zero(others)) +
                                      " in its mask, which names another mask"
                                : "is no lane of its own mask");
    return Next::kEnded;
  }
  // Mostly, all lanes are named, and are here.
  const LaneMask live = at.warp.live;
  const bool is_complete =
      common == kAllLanes ? at.lanes == live : ready_lanes(masks, at.lanes, live) == at.lanes;
  if (is_complete) return perform(at, masks) ? Next::kStep : Next::kEnded;
  at.warp.wait(index, at.lanes, Warp::Wait::kMeeting, 0);
  complete_meetings(at.warp);
  return Next::kBlocked;
}

// Lanes may arrive apart; for all but barriers they must arrive at the same instruction.
void ThreadBlock::complete_meetings(Warp& warp) {
  for (bool changes = true; changes && !reporter_.has_abandoned();) {
    changes = false;
    for (std::size_t i = 0; i < warp.groups.size() && !changes; ++i) {
      if (warp.groups[i].wait != Warp::Wait::kMeeting) continue;
      const std::uint32_t at = warp.groups[i].step;
      const Step& step = program_.steps[at];
      const auto meets = [&](const Warp::Group& group) {
        return group.wait == Warp::Wait::kMeeting &&
               (group.step == at || (step.action == Action::kWarpBarrier &&
                                     program_.steps[group.step].action == Action::kWarpBarrier));
      };
      LaneMask present = 0;
      LaneMasks masks = {};
      for (const Warp::Group& group : warp.groups) {
        if (!meets(group)) continue;
        present |= group.lanes;
        const LaneMasks own = masks_of(warp, program_.steps[group.step]);
        for_each_lane_of(group.lanes, [&](unsigned lane) { masks[lane] = own[lane]; });
      }
      const LaneMask ready = ready_lanes(masks, present, warp.live);
      if (ready == 0) continue;
      changes = true;
      perform({warp, step, ready}, masks);
      const std::size_t count = warp.groups.size();
      for (std::size_t g = 0; g < count; ++g) {
        if (!meets(warp.groups[g]) || (warp.groups[g].lanes & ready) == 0) continue;
        const LaneMask rest = warp.groups[g].lanes & ~ready;
        if (rest != 0) {
          Warp::Group waiting = warp.groups[g];
          waiting.lanes = rest;
          warp.groups.push_back(waiting);
        }
        warp.groups[g].lanes &= ready;
        warp.groups[g].wait = Warp::Wait::kNone;
        ++warp.groups[g].step;
      }
    }
  }
}

// A warp barrier orders the lanes of each mask among themselves.
void ThreadBlock::order_lanes(const WarpStep& at, const LaneMasks& masks) {
  if (memory_.checker() == nullptr) return;
  for (LaneMask lanes = at.lanes; lanes != 0;) {
    const LaneMask mask = masks[static_cast<unsigned>(std::countr_zero(lanes))];
    memory_.checker()->pass_warp_barrier(at.warp.number, mask);
    lanes &= ~mask;
  }
}

// False if the kernel cannot go on.
bool ThreadBlock::perform(const WarpStep& at, const LaneMasks& masks) {
  switch (at.step.action) {
    case Action::kWarpBarrier:
      order_lanes(at, masks);
      break;
    case Action::kShuffle:
      if (const auto missing = shuffle(at, detail_of(at.step))) {
        reporter_.abandon(Check::kShuffleSource, at.warp.thread(missing->lane), at.step,
                          "takes the value of lane " + std::to_string(missing->source) +
                              ", which does not take part");
      }
      break;
    case Action::kVote:
      vote(at, detail_of(at.step));
      break;
    case Action::kMatch:
      match(at, detail_of(at.step));
      break;
    case Action::kReduce:
      reduce(at, detail_of(at.step));
      break;
    case Action::kElect:
      elect(at, detail_of(at.step));
      break;
    case Action::kLoadMatrix:
      load_matrix(memory_, at, detail_of(at.step));
      break;
    case Action::kStoreMatrix:
      store_matrix(memory_, at, detail_of(at.step));
      break;
    case Action::kMatrixProduct:
      multiply(at);
      break;
    case Action::kWarpgroupFence:
      warpgroups_.fence(at);
      break;
    case Action::kWarpgroupProduct:
      warpgroups_.multiply(at, detail_of(at.step));
      break;
    case Action::kWarpgroupCommit:
      warpgroups_.commit(at);
      break;
    default:
      warpgroups_.wait(at, detail_of(at.step));
      break;
  }
  if (reporter_.has_abandoned()) return false;
  if (at.step.is_tracked) pass_undefined(program_, at);
  return true;
}

void ThreadBlock::multiply(const WarpStep& at) const {
  const Detail& detail = detail_of(at.step);
  const MmaShape& shape = detail.product;
  RegisterRow factors[kMmaRegistersMax];
  RegisterRow sums[4];
  for (std::size_t i = 0; i < detail.uses.size(); ++i) {
    std::memcpy(factors[i], at.warp.registers + detail.uses[i], sizeof(RegisterRow));
  }
  const RegisterRow* const b = factors + shape.a_registers();
  mma(shape, {factors, b, b + shape.b_registers(), sums}, run_.options.matrix_sums);
  for (std::size_t i = 0; i < detail.defs.size(); ++i) {
    std::memcpy(at.warp.registers + detail.defs[i], sums[i], sizeof(RegisterRow));
  }
}

}  // namespace recto::ptx

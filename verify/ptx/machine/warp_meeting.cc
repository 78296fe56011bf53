// Instructions in which lanes of a warp meet: each waits until all lanes of its mask have arrived.

#include <algorithm>
#include <bit>

#include "verify/ptx/machine/thread_block.h"

namespace recto::ptx {
namespace {

bool is_collective(Action action) {
  return action == Action::kMatrixProduct || action == Action::kLoadMatrix ||
         action == Action::kStoreMatrix;
}

}  // namespace

// .aligned instructions have no mask: all lanes of the warp take part.
LaneMask ThreadBlock::member_mask(const Warp& warp, const Step& step, unsigned lane) const {
  if (is_collective(step.action)) return kAllLanes;
  if (step.action == Action::kWarpBarrier) return row<std::uint32_t>(warp, step.a)[lane];
  return row<std::uint32_t>(warp, program_.details[step.detail].uses[0])[lane];
}

ThreadBlock::Next ThreadBlock::meet(Warp& warp, std::size_t index, const Step& step,
                                    LaneMask lanes) {
  bool is_complete = true;
  for_each_lane_of(lanes, [&](unsigned lane) {
    const LaneMask mask = member_mask(warp, step, lane);
    if ((mask >> lane & 1) == 0 && !is_abandoned_) {
      report(Check::kWarpMask, warp, lane, step, "is no lane of its own mask");
    }
    is_complete &= (mask & warp.live & ~lanes) == 0;
  });
  if (is_abandoned_) return Next::kEnded;
  if (is_complete) {
    perform(warp, step, lanes);
    if (is_abandoned_) return Next::kEnded;
    order_lanes(warp, step, lanes);
    return Next::kStep;
  }
  const Group group = warp.groups[index];
  if (lanes != group.lanes) {  // lanes without the guard go on
    warp.groups.push_back({group.step + 1, group.lanes & ~lanes, group.node});
    warp.groups[index].lanes = lanes;
  }
  warp.groups[index].wait = Wait::kMeeting;
  complete_meetings(warp);
  return Next::kBlocked;
}

// Lanes may arrive apart; for all but barriers they must arrive at the same instruction.
void ThreadBlock::complete_meetings(Warp& warp) {
  for (bool changes = true; changes && !is_abandoned_;) {
    changes = false;
    for (std::size_t i = 0; i < warp.groups.size() && !changes; ++i) {
      if (warp.groups[i].wait != Wait::kMeeting) continue;
      const std::uint32_t at = warp.groups[i].step;
      const Step& step = program_.steps[at];
      const auto meets = [&](const Group& group) {
        return group.wait == Wait::kMeeting &&
               (group.step == at || (step.action == Action::kWarpBarrier &&
                                     program_.steps[group.step].action == Action::kWarpBarrier));
      };
      LaneMask present = 0;
      for (const Group& group : warp.groups) present |= meets(group) ? group.lanes : 0;
      LaneMask ready = 0;
      for (const Group& group : warp.groups) {
        if (!meets(group)) continue;
        for_each_lane_of(group.lanes, [&](unsigned lane) {
          const LaneMask mask = member_mask(warp, program_.steps[group.step], lane);
          if ((mask & warp.live & ~present) == 0) ready |= LaneMask{1} << lane;
        });
      }
      if (ready == 0) continue;
      changes = true;
      perform(warp, step, ready);
      order_lanes(warp, step, ready);
      const std::size_t count = warp.groups.size();
      for (std::size_t g = 0; g < count; ++g) {
        if (!meets(warp.groups[g]) || (warp.groups[g].lanes & ready) == 0) continue;
        const LaneMask rest = warp.groups[g].lanes & ~ready;
        if (rest != 0) {
          Group waiting = warp.groups[g];
          waiting.lanes = rest;
          warp.groups.push_back(waiting);
        }
        warp.groups[g].lanes &= ready;
        warp.groups[g].wait = Wait::kNone;
        ++warp.groups[g].step;
      }
    }
  }
}

// A warp barrier orders the lanes of each mask among themselves.
void ThreadBlock::order_lanes(const Warp& warp, const Step& step, LaneMask lanes) {
  if (!checker_ || step.action != Action::kWarpBarrier) return;
  while (lanes != 0) {
    const LaneMask mask = member_mask(warp, step, static_cast<unsigned>(std::countr_zero(lanes)));
    checker_->pass_warp_barrier(warp.number, mask);
    lanes &= ~mask;
  }
}

void ThreadBlock::perform(Warp& warp, const Step& step, LaneMask lanes) {
  switch (step.action) {
    case Action::kShuffle:
      shuffle(warp, step, lanes);
      break;
    case Action::kVote:
      vote(warp, step, lanes);
      break;
    case Action::kMatch:
      match(warp, step, lanes);
      break;
    case Action::kReduce:
    case Action::kElect:
      reduce(warp, step, lanes);
      break;
    case Action::kLoadMatrix:
      load_matrix(warp, step, lanes);
      break;
    case Action::kStoreMatrix:
      store_matrix(warp, step, lanes);
      break;
    case Action::kMatrixProduct:
      multiply(warp, step);
      break;
    default:
      break;
  }
  if (step.is_tracked && !is_abandoned_) pass_undefined(warp, step, lanes);
}

// PTX ISA, "Data Movement and Conversion Instructions: shfl.sync".
void ThreadBlock::shuffle(Warp& warp, const Step& step, LaneMask lanes) {
  const Detail& detail = program_.details[step.detail];
  std::array<std::uint32_t, kWarpSize> values = {};
  std::copy_n(row<std::uint32_t>(warp, step.a), kWarpSize, values.begin());
  const std::uint32_t* const b = row<std::uint32_t>(warp, step.b);
  const std::uint32_t* const c = row<std::uint32_t>(warp, step.c);
  std::array<std::uint32_t, kWarpSize> results = {};
  LaneMask valid = 0;
  for (unsigned lane = 0; lane < kWarpSize; ++lane) {
    const unsigned distance = b[lane] & 31;
    const unsigned clamp = c[lane] & 31;
    const unsigned segment = c[lane] >> 8 & 31;
    const unsigned last = (lane & segment) | (clamp & ~segment);
    const unsigned first = lane & segment;
    unsigned source = 0;
    bool is_valid = false;
    switch (detail.shuffle) {
      case ShuffleMode::kUp:
        source = lane - distance;
        is_valid = static_cast<int>(source) >= static_cast<int>(last);
        break;
      case ShuffleMode::kDown:
        source = lane + distance;
        is_valid = source <= last;
        break;
      case ShuffleMode::kButterfly:
        source = lane ^ distance;
        is_valid = source <= last;
        break;
      case ShuffleMode::kIndex:
        source = first | (distance & ~segment);
        is_valid = source <= last;
        break;
    }
    if (!is_valid) source = lane;
    if ((lanes >> lane & 1) != 0 && (lanes >> (source & 31) & 1) == 0) {
      report(Check::kShuffleSource, warp, lane, step,
             "takes the value of lane " + std::to_string(source) + ", which does not take part");
      return;
    }
    results[lane] = values[source & 31];
    if (is_valid) valid |= LaneMask{1} << lane;
  }
  std::uint32_t* const d = row<std::uint32_t>(warp, step.d);
  if (lanes == warp.live) {
    std::copy(results.begin(), results.end(), d);
  } else {
    for_each_lane_of(lanes, [&](unsigned lane) { d[lane] = results[lane]; });
  }
  if ((step.defs & kFieldE) != 0) {
    LaneMask& p = mask_at(warp, step.e);
    p = (p & ~lanes) | (valid & lanes);
  }
}

void ThreadBlock::vote(Warp& warp, const Step& step, LaneMask lanes) {
  const Detail& detail = program_.details[step.detail];
  const LaneMask truths = mask_at(warp, step.a);
  LaneMask predicate = 0;
  for_each_lane_of(lanes, [&](unsigned lane) {
    const LaneMask members = member_mask(warp, step, lane) & lanes;
    const LaneMask votes = truths & members;
    bool truth = false;
    switch (detail.vote) {
      case VoteMode::kAll:
        truth = votes == members;
        break;
      case VoteMode::kAny:
        truth = votes != 0;
        break;
      case VoteMode::kUniform:
        truth = votes == members || votes == 0;
        break;
      case VoteMode::kBallot:
        row<std::uint32_t>(warp, step.d)[lane] = votes;
        break;
    }
    predicate |= truth ? LaneMask{1} << lane : 0;
  });
  if (detail.vote == VoteMode::kBallot) return;
  LaneMask& d = mask_at(warp, step.d);
  d = (d & ~lanes) | predicate;
}

void ThreadBlock::match(Warp& warp, const Step& step, LaneMask lanes) {
  const Detail& detail = program_.details[step.detail];
  const auto value = [&](unsigned lane) {
    return detail.width == 8 ? row<std::uint64_t>(warp, step.a)[lane]
                             : row<std::uint32_t>(warp, step.a)[lane];
  };
  std::array<LaneMask, kWarpSize> results = {};
  LaneMask all_equal = 0;
  for_each_lane_of(lanes, [&](unsigned lane) {
    const LaneMask members = member_mask(warp, step, lane) & lanes;
    LaneMask equal = 0;
    for_each_lane_of(members, [&](unsigned other) {
      if (value(other) == value(lane)) equal |= LaneMask{1} << other;
    });
    const bool is_any = detail.vote == VoteMode::kAny;
    results[lane] = is_any || equal == members ? equal : 0;
    if (equal == members) all_equal |= LaneMask{1} << lane;
  });
  for_each_lane_of(lanes,
                   [&](unsigned lane) { row<std::uint32_t>(warp, step.d)[lane] = results[lane]; });
  if ((step.defs & kFieldE) != 0) {
    LaneMask& p = mask_at(warp, step.e);
    p = (p & ~lanes) | all_equal;
  }
}

// redux.sync, and elect.sync, which chooses the lowest lane.
void ThreadBlock::reduce(Warp& warp, const Step& step, LaneMask lanes) {
  const Detail& detail = program_.details[step.detail];
  std::array<std::uint32_t, kWarpSize> results = {};
  LaneMask leaders = 0;
  for_each_lane_of(lanes, [&](unsigned lane) {
    const LaneMask members = member_mask(warp, step, lane) & lanes;
    const auto leader = static_cast<unsigned>(std::countr_zero(members));
    if (step.action == Action::kElect) {
      results[lane] = leader;
      leaders |= LaneMask{1} << leader;
      return;
    }
    const std::uint32_t* const values = row<std::uint32_t>(warp, step.a);
    std::uint32_t total = values[leader];
    for_each_lane_of(members & (members - 1), [&](unsigned other) {
      const std::uint32_t x = values[other];
      const bool is_less = is_signed(detail.type)
                               ? static_cast<std::int32_t>(x) < static_cast<std::int32_t>(total)
                               : x < total;
      switch (detail.atomic) {
        case AtomicOperation::kAdd:
          total += x;
          break;
        case AtomicOperation::kMin:
          total = is_less ? x : total;
          break;
        case AtomicOperation::kMax:
          total = is_less ? total : x;
          break;
        case AtomicOperation::kAnd:
          total &= x;
          break;
        case AtomicOperation::kOr:
          total |= x;
          break;
        default:
          total ^= x;
          break;
      }
    });
    results[lane] = total;
  });
  for_each_lane_of(lanes,
                   [&](unsigned lane) { row<std::uint32_t>(warp, step.d)[lane] = results[lane]; });
  if ((step.defs & kFieldE) != 0) {
    LaneMask& p = mask_at(warp, step.e);
    p = (p & ~lanes) | (leaders & lanes);
  }
}

}  // namespace recto::ptx

#include "verify/ptx/machine/exchange.h"

#include <bit>

namespace recto::ptx {
namespace {

// Those that take part with the lane.
LaneMask members_of(const WarpStep& at, const Detail& detail, unsigned lane) {
  return at.warp.row<std::uint32_t>(detail.uses[0])[lane] & at.lanes;
}

void set_rows(const WarpStep& at, const std::array<std::uint32_t, kWarpSize>& results) {
  std::uint32_t* const d = at.warp.row<std::uint32_t>(at.step.d);
  for_each_lane_of(at.lanes, [&](unsigned lane) { d[lane] = results[lane]; });
}

// The second result, if it is wanted.
void set_predicate(const WarpStep& at, LaneMask truths) {
  if ((at.step.defs & kFieldE) != 0) at.warp.set_mask(at.step.e, at.lanes, truths);
}

// Where a lane's value comes from, and whether that is inside of its segment.
struct Source {
  unsigned lane = 0;
  bool is_inside = false;
};

template <ShuffleMode kMode>
Source source_of(unsigned lane, std::uint32_t b, std::uint32_t c) {
  const unsigned distance = b & 31;
  const unsigned segment = c >> 8 & 31;
  const unsigned last = (lane & segment) | (c & 31 & ~segment);
  if constexpr (kMode == ShuffleMode::kUp) {
    return {lane - distance, lane >= distance + last};
  } else {
    const unsigned source = kMode == ShuffleMode::kDown ? lane + distance
                            : kMode == ShuffleMode::kButterfly
                                ? lane ^ distance
                                : (lane & segment) | (distance & ~segment);
    return {source, source <= last};
  }
}

std::uint32_t combined(const Detail& detail, std::uint32_t total, std::uint32_t x) {
  const bool is_less = is_signed(detail.type)
                           ? static_cast<std::int32_t>(x) < static_cast<std::int32_t>(total)
                           : x < total;
  switch (detail.atomic) {
    case AtomicOperation::kAdd:
      return total + x;
    case AtomicOperation::kMin:
      return is_less ? x : total;
    case AtomicOperation::kMax:
      return is_less ? total : x;
    case AtomicOperation::kAnd:
      return total & x;
    case AtomicOperation::kOr:
      return total | x;
    default:
      return total ^ x;
  }
}

// PTX ISA, "Data Movement and Conversion Instructions: shfl.sync".
template <ShuffleMode kMode>
std::optional<MissingSource> shuffle_as(const WarpStep& at, const Detail& detail) {
  const std::uint32_t* const a = at.warp.row<std::uint32_t>(at.step.a);
  const std::uint32_t* const b = at.warp.row<std::uint32_t>(at.step.b);
  const std::uint32_t* const c = at.warp.row<std::uint32_t>(at.step.c);
  std::array<std::uint32_t, kWarpSize> results = {};
  LaneMask valid = 0;
  LaneMask missing = 0;
  for (unsigned lane = 0; lane < kWarpSize; ++lane) {
    const Source source = source_of<kMode>(lane, b[lane], c[lane]);
    const unsigned from = source.is_inside ? source.lane & 31 : lane;
    results[lane] = a[from];
    valid |= LaneMask{source.is_inside} << lane;
    missing |= (~members_of(at, detail, lane) >> from & 1) << lane;
  }
  if (missing &= at.lanes; missing != 0) {
    const auto lane = static_cast<unsigned>(std::countr_zero(missing));
    return MissingSource{lane, source_of<kMode>(lane, b[lane], c[lane]).lane & 31};
  }
  set_rows(at, results);
  set_predicate(at, valid);
  return std::nullopt;
}

}  // namespace

std::optional<MissingSource> shuffle(const WarpStep& at, const Detail& detail) {
  switch (detail.shuffle) {
    case ShuffleMode::kUp:
      return shuffle_as<ShuffleMode::kUp>(at, detail);
    case ShuffleMode::kDown:
      return shuffle_as<ShuffleMode::kDown>(at, detail);
    case ShuffleMode::kButterfly:
      return shuffle_as<ShuffleMode::kButterfly>(at, detail);
    default:
      return shuffle_as<ShuffleMode::kIndex>(at, detail);
  }
}

void vote(const WarpStep& at, const Detail& detail) {
  const LaneMask truths = at.warp.mask_at(at.step.a);
  std::array<std::uint32_t, kWarpSize> ballots = {};
  LaneMask predicate = 0;
  for_each_lane_of(at.lanes, [&](unsigned lane) {
    const LaneMask members = members_of(at, detail, lane);
    const LaneMask votes = truths & members;
    ballots[lane] = votes;
    const bool all = votes == members;
    const bool truth = detail.vote == VoteMode::kAll   ? all
                       : detail.vote == VoteMode::kAny ? votes != 0
                                                       : all || votes == 0;
    predicate |= truth ? LaneMask{1} << lane : 0;
  });
  if (detail.vote == VoteMode::kBallot) {
    set_rows(at, ballots);
  } else {
    at.warp.set_mask(at.step.d, at.lanes, predicate);
  }
}

void match(const WarpStep& at, const Detail& detail) {
  const auto value = [&](unsigned lane) {
    return detail.width == 8 ? at.warp.row<std::uint64_t>(at.step.a)[lane]
                             : at.warp.row<std::uint32_t>(at.step.a)[lane];
  };
  std::array<LaneMask, kWarpSize> results = {};
  LaneMask all_equal = 0;
  for_each_lane_of(at.lanes, [&](unsigned lane) {
    const LaneMask members = members_of(at, detail, lane);
    LaneMask equal = 0;
    for_each_lane_of(members, [&](unsigned other) {
      if (value(other) == value(lane)) equal |= LaneMask{1} << other;
    });
    results[lane] = detail.vote == VoteMode::kAny || equal == members ? equal : 0;
    if (equal == members) all_equal |= LaneMask{1} << lane;
  });
  set_rows(at, results);
  set_predicate(at, all_equal);
}

void reduce(const WarpStep& at, const Detail& detail) {
  const std::uint32_t* const values = at.warp.row<std::uint32_t>(at.step.a);
  std::array<std::uint32_t, kWarpSize> results = {};
  for_each_lane_of(at.lanes, [&](unsigned lane) {
    const LaneMask members = members_of(at, detail, lane);
    std::uint32_t total = values[std::countr_zero(members)];
    for_each_lane_of(members & (members - 1),
                     [&](unsigned other) { total = combined(detail, total, values[other]); });
    results[lane] = total;
  });
  set_rows(at, results);
}

void elect(const WarpStep& at, const Detail& detail) {
  std::array<std::uint32_t, kWarpSize> results = {};
  LaneMask leaders = 0;
  for_each_lane_of(at.lanes, [&](unsigned lane) {
    results[lane] = static_cast<std::uint32_t>(std::countr_zero(members_of(at, detail, lane)));
    leaders |= LaneMask{1} << results[lane];
  });
  set_rows(at, results);
  set_predicate(at, leaders);
}

}  // namespace recto::ptx

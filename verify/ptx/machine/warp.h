#pragma once

// A warp while it runs: its registers, and its lanes' places in the program.
//
// A warp runs in groups of lanes that are at one step. Lanes part at branches; they meet again at
// the branch's post-dominator, but nothing relies on that: a group that waits there goes on if the
// warp cannot do without it. So lanes may be apart wherever independent thread scheduling allows.

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "core/random_stream.h"
#include "verify/ptx/machine/launch_options.h"
#include "verify/ptx/program/program.h"

namespace recto::ptx {

using LaneAddresses = std::array<std::uint64_t, kWarpSize>;

// Calls visit(lane) for each lane of the mask.
template <typename Visit>
void for_each_lane_of(LaneMask lanes, Visit visit) {
  if (lanes == kAllLanes) {  // mostly, and without a look at each bit
    for (unsigned lane = 0; lane < kWarpSize; ++lane) visit(lane);
    return;
  }
  for (; lanes != 0; lanes &= lanes - 1) visit(static_cast<unsigned>(__builtin_ctz(lanes)));
}

class Warp {
 public:
  static constexpr std::uint32_t kNoNode = ~std::uint32_t{0};

  enum class Wait : std::uint8_t { kNone, kBarrier, kMeeting, kMbarrier, kClusterBarrier };
  struct Group {
    std::uint32_t step = 0;
    LaneMask lanes = 0;
    std::uint32_t node = kNoNode;  // where it will meet others
    Wait wait = Wait::kNone;
    bool has_expired = false;   // its wait at an mbarrier has taken too long
    std::uint32_t barrier = 0;  // its number, or how much had happened when it began to wait
    std::uint32_t turns = 0;    // that it has used up
  };
  struct Part {
    std::uint32_t step = 0;
    LaneMask lanes = 0;
  };

  std::uint32_t number = 0;
  LaneMask live = 0;
  std::byte* registers = nullptr;
  std::vector<Group> groups = {};
  // Whether the lower and upper half of each value may be undefined, by place / 4; both are the
  // same for predicates. Empty if registers are not tracked.
  std::array<std::vector<LaneMask>, 2> undefined = {};

  std::uint32_t thread(unsigned lane) const { return number * kWarpSize + lane; }
  template <typename T>
  T* row(ValuePlace place) const {
    return reinterpret_cast<T*>(registers + place);
  }
  LaneMask& mask_at(ValuePlace place) const { return *row<LaneMask>(place); }
  // Predicates of lanes: the others keep theirs.
  void set_mask(ValuePlace place, LaneMask lanes, LaneMask truths) const {
    mask_at(place) = (mask_at(place) & ~lanes) | (truths & lanes);
  }
  LaneMask enabled_lanes(const Step& step, LaneMask lanes) const {
    if (step.guard == kNoValue) return lanes;
    return lanes & (mask_at(step.guard) ^ (step.is_guard_negated ? kAllLanes : 0));
  }

  void begin(LaneMask lanes);  // all at the first step
  bool is_ready() const;
  // A group that can go on. Of two, the one that has had fewer turns: a group that spins must let
  // others run.
  std::size_t choose_group(SchedulePolicy policy, RandomStream& random) const;
  std::uint32_t join_of(std::size_t group) const {
    return groups[group].node == kNoNode ? kNoStep : nodes_[groups[group].node].join;
  }

  // The group's lanes go different ways, and will meet at `join`, if that is a step.
  void part(std::size_t group, std::uint32_t join, std::span<const Part> parts);
  // The group waits where a branch ends.
  void arrive_at_join(std::size_t group);
  // Those who wait where branches end go on. False if there are none.
  bool release_joins();
  // These lanes of the group wait; the others of it execute the next step.
  void wait(std::size_t group, LaneMask lanes, Wait what, std::uint32_t barrier);
  // These lanes of the group exit. False if it has no others.
  bool exit(std::size_t group, LaneMask lanes);

 private:
  // A branch at which lanes parted, and the step where they meet.
  struct Node {
    std::uint32_t join = kNoStep;
    std::uint32_t parent = kNoNode;
    LaneMask expected = 0;
    LaneMask arrived = 0;
  };

  std::uint32_t node_for(const Group& group, std::uint32_t join);
  void complete_nodes();

  std::vector<Node> nodes_;
};

// What a step does to its group: it goes on with the next step, or with the one that was set; it
// waits, or there is no such group any more.
enum class Next : std::uint8_t { kStep, kMoved, kBlocked, kEnded };

// A step that lanes of a warp execute.
struct WarpStep {
  Warp& warp;
  const Step& step;
  LaneMask lanes = 0;

  unsigned first_lane() const { return static_cast<unsigned>(__builtin_ctz(lanes)); }
};

}  // namespace recto::ptx

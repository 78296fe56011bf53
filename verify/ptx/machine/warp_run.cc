// Runs a group of lanes, and lets lanes part and meet.

#include <algorithm>
#include <bit>

#include "verify/ptx/machine/thread_block.h"

namespace recto::ptx {

void ThreadBlock::run_group(Warp& warp, std::size_t index) {
  const Step* const steps = program_.steps.data();
  std::byte* const registers = warp.registers;
  std::uint64_t straight_steps = 0;
  // What the group's lanes and step are, as long as it is the one that runs.
  LaneMask lanes = warp.groups[index].lanes;
  std::uint32_t at = warp.groups[index].step;
  std::uint32_t join =
      warp.groups[index].node == kNoNode ? kNoStep : warp.nodes[warp.groups[index].node].join;
  for (;;) {
    const Step& step = steps[at];
    if (at == join) {
      warp.groups[index].step = at;
      arrive_at_join(warp, index);
      break;
    }
    if (step.straight != 0) {
      const Step* const end = &step + step.straight;
      straight_steps += step.straight;
      at += step.straight;
      if (lanes == warp.live) {
        for (const Step* each = &step; each != end; ++each) each->lanes(registers, *each);
      } else {
        for (const Step* each = &step; each != end; ++each) run_masked(warp, *each, lanes);
      }
      continue;
    }
    if (steps_left_ == 0) {
      warp.groups[index].step = at;
      end_turn(warp, warp.groups[index]);
      break;
    }
    --steps_left_;
    const LaneMask enabled = enabled_lanes(warp, step, lanes);
    if (run_.options.counts && enabled != 0) {
      ++run_.report_.counters.by_action[static_cast<std::size_t>(step.action)];
    }
    if (step.is_tracked && !check_defined(warp, step, lanes, enabled)) break;
    if (step.action == Action::kBranch) {
      // Most branches are taken by all lanes or by none.
      if (enabled == 0) {
        ++at;
        continue;
      }
      if (enabled == lanes && run_.options.schedule.policy != SchedulePolicy::kRandomThread) {
        at = step.target;
        continue;
      }
    }
    warp.groups[index].step = at;
    const Next next = act(warp, index, step, enabled);
    if (is_abandoned_ || next == Next::kBlocked || next == Next::kEnded) break;
    const Group& group = warp.groups[index];
    lanes = group.lanes;
    at = next == Next::kStep ? at + 1 : group.step;
    join = group.node == kNoNode ? kNoStep : warp.nodes[group.node].join;
  }
  count_straight(straight_steps);
}

LaneMask ThreadBlock::enabled_lanes(const Warp& warp, const Step& step, LaneMask lanes) const {
  if (step.guard == kNoValue) return lanes;
  return lanes & (mask_at(warp, step.guard) ^ (step.is_guard_negated ? kAllLanes : 0));
}

void ThreadBlock::count_straight(std::uint64_t steps) {
  if (!run_.options.counts) return;
  run_.report_.counters.by_action[static_cast<std::size_t>(Action::kLanes)] += steps;
}

// Results go to scratch memory first, and from there to the lanes that take part.
void ThreadBlock::run_masked(Warp& warp, const Step& step, LaneMask lanes) {
  Step apart = step;
  apart.d = program_.scratch_d;
  step.lanes(warp.registers, apart);
  if (step.d_width == kPredicateWidth) {
    LaneMask& d = mask_at(warp, step.d);
    d = (d & ~lanes) | (mask_at(warp, apart.d) & lanes);
    return;
  }
  mask_at(warp, program_.scratch_e) = lanes;
  Step blend;
  blend.d = step.d;
  blend.a = apart.d;
  blend.b = step.d;
  blend.c = program_.scratch_e;
  blends_[step.d_width]->function(warp.registers, blend);
}

// --- parting -------------------------------------------------------------------------------------

ThreadBlock::Next ThreadBlock::branch(Warp& warp, std::size_t index, const Step& step,
                                      LaneMask taken) {
  Group& group = warp.groups[index];
  const LaneMask lanes = group.lanes;
  const auto after = static_cast<std::uint32_t>(&step - program_.steps.data()) + 1;
  LaneMask apart = taken;  // those that leave the group
  std::uint32_t apart_step = step.target;
  std::uint32_t own_step = after;
  if (taken == lanes || taken == 0) {
    // Nothing forces lanes that agree to go on together.
    own_step = taken == 0 ? after : step.target;
    apart_step = own_step;
    const bool parts = run_.options.schedule.policy == SchedulePolicy::kRandomThread &&
                       step.join != kNoStep && random_.next_below(8) == 0;
    apart = parts ? lanes & static_cast<LaneMask>(random_.next_u64()) : 0;
    if (apart == 0 || apart == lanes) {
      group.step = own_step;
      return Next::kMoved;
    }
  }
  const std::uint32_t node = part(warp, index, step.join);
  Group& own = warp.groups[index];
  own.lanes = lanes & ~apart;
  own.step = own_step;
  own.node = node;
  warp.groups.push_back({apart_step, apart, node});
  // The scheduler chooses which of the two goes on.
  return Next::kBlocked;
}

ThreadBlock::Next ThreadBlock::branch_by_table(Warp& warp, std::size_t index, const Step& step,
                                               LaneMask lanes) {
  const std::vector<std::uint32_t>& targets = program_.details[step.detail].targets;
  const std::uint32_t* const entries = row<std::uint32_t>(warp, step.a);
  const auto after = static_cast<std::uint32_t>(&step - program_.steps.data()) + 1;
  const LaneMask all = warp.groups[index].lanes;
  std::vector<std::pair<std::uint32_t, LaneMask>> parts;
  for (unsigned lane = 0; lane < kWarpSize; ++lane) {
    if ((all >> lane & 1) == 0) continue;
    const bool is_enabled = (lanes >> lane & 1) != 0;
    if (is_enabled && entries[lane] >= targets.size()) {
      report(Check::kRefused, warp, lane, step,
             "branches to entry " + std::to_string(entries[lane]) + " of " +
                 std::to_string(targets.size()));
      return Next::kEnded;
    }
    const std::uint32_t to = is_enabled ? targets[entries[lane]] : after;
    const auto known = std::find_if(parts.begin(), parts.end(),
                                    [&](const auto& part) { return part.first == to; });
    if (known != parts.end()) {
      known->second |= LaneMask{1} << lane;
    } else {
      parts.emplace_back(to, LaneMask{1} << lane);
    }
  }
  if (parts.size() == 1) {
    warp.groups[index].step = parts[0].first;
    return Next::kMoved;
  }
  const std::uint32_t node = part(warp, index, step.join);
  warp.groups[index] = {parts[0].first, parts[0].second, node};
  for (std::size_t i = 1; i < parts.size(); ++i) {
    warp.groups.push_back({parts[i].first, parts[i].second, node});
  }
  return Next::kBlocked;
}

// The node where the lanes of the group will meet. Lanes that already are to meet there need no
// other.
std::uint32_t ThreadBlock::part(Warp& warp, std::size_t index, std::uint32_t join) {
  const Group& group = warp.groups[index];
  if (join == kNoStep) return group.node;
  if (group.node != kNoNode && warp.nodes[group.node].join == join) return group.node;
  const Node node{join, group.node, group.lanes, 0};
  for (std::uint32_t i = 0; i < warp.nodes.size(); ++i) {
    if (warp.nodes[i].expected == 0) {
      warp.nodes[i] = node;
      return i;
    }
  }
  warp.nodes.push_back(node);
  return static_cast<std::uint32_t>(warp.nodes.size() - 1);
}

// --- meeting -------------------------------------------------------------------------------------

ThreadBlock::Next ThreadBlock::arrive_at_join(Warp& warp, std::size_t index) {
  const Group group = warp.groups[index];
  warp.nodes[group.node].arrived |= group.lanes;
  warp.groups.erase(warp.groups.begin() + static_cast<std::ptrdiff_t>(index));
  complete_nodes(warp);
  return Next::kEnded;
}

void ThreadBlock::complete_nodes(Warp& warp) {
  for (Node& node : warp.nodes) {
    if (node.expected == 0 || node.arrived != node.expected) continue;
    warp.groups.push_back({node.join, node.arrived, node.parent});
    node.expected = 0;
    node.arrived = 0;
  }
}

ThreadBlock::Next ThreadBlock::exit(Warp& warp, std::size_t index, const Step& step,
                                    LaneMask lanes) {
  if (checker_ && warp.has_copies) {
    for_each_lane_of(lanes, [&](unsigned lane) {
      const LaneCopies& copies = warp.copies[lane];
      if (copies.pending.empty() || is_abandoned_) return;
      Finding found =
          finding(Check::kUnfinishedCopy, warp, lane, step, "exits before its copy has ended");
      found.other_place = run_.code_place(copies.pending[0].place);
      found.other_what = "the copy begins";
      run_.report(std::move(found));
    });
  }
  warp.live &= ~lanes;
  exited_ += static_cast<std::uint32_t>(std::popcount(lanes));
  Group& group = warp.groups[index];
  group.lanes &= ~lanes;
  ++group.step;
  const bool goes_on = group.lanes != 0;
  if (!goes_on) warp.groups.erase(warp.groups.begin() + static_cast<std::ptrdiff_t>(index));
  for (Node& node : warp.nodes) node.expected &= ~lanes;
  complete_nodes(warp);
  complete_meetings(warp);
  complete_barriers();
  return goes_on ? Next::kMoved : Next::kEnded;
}

}  // namespace recto::ptx

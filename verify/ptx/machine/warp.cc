#include "verify/ptx/machine/warp.h"

#include <algorithm>
#include <utility>

namespace recto::ptx {

void Warp::begin(LaneMask lanes) {
  live = lanes;
  groups.assign(1, {0, lanes});
  nodes_.clear();
}

bool Warp::is_ready() const {
  return std::any_of(groups.begin(), groups.end(),
                     [](const Group& group) { return group.wait == Wait::kNone; });
}

std::size_t Warp::choose_group(SchedulePolicy policy, RandomStream& random) const {
  std::size_t chosen = groups.size();
  std::uint64_t ready = 0;
  const auto rank = [&](const Group& group) {
    return std::pair(group.turns, policy == SchedulePolicy::kReverse ? ~group.step : group.step);
  };
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (groups[i].wait != Wait::kNone) continue;
    ++ready;
    bool is_better = chosen == groups.size() || rank(groups[i]) < rank(groups[chosen]);
    if (policy >= SchedulePolicy::kRandomWarp) is_better = random.next_below(ready) == 0;
    if (is_better) chosen = i;
  }
  return chosen;
}

void Warp::part(std::size_t index, std::uint32_t join, std::span<const Part> parts) {
  const std::uint32_t node = node_for(groups[index], join);
  Group& own = groups[index];
  own.step = parts[0].step;
  own.lanes = parts[0].lanes;
  own.node = node;
  for (const Part& part : parts.subspan(1)) groups.push_back({part.step, part.lanes, node});
}

// Lanes that already are to meet there need no other node.
std::uint32_t Warp::node_for(const Group& group, std::uint32_t join) {
  if (join == kNoStep) return group.node;
  if (group.node != kNoNode && nodes_[group.node].join == join) return group.node;
  const Node node{join, group.node, group.lanes, 0};
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].expected != 0) continue;
    nodes_[i] = node;
    return i;
  }
  nodes_.push_back(node);
  return static_cast<std::uint32_t>(nodes_.size() - 1);
}

void Warp::arrive_at_join(std::size_t index) {
  nodes_[groups[index].node].arrived |= groups[index].lanes;
  groups.erase(groups.begin() + static_cast<std::ptrdiff_t>(index));
  complete_nodes();
}

void Warp::complete_nodes() {
  for (Node& node : nodes_) {
    if (node.expected == 0 || node.arrived != node.expected) continue;
    groups.push_back({node.join, node.arrived, node.parent});
    node.expected = 0;
    node.arrived = 0;
  }
}

bool Warp::release_joins() {
  bool releases = false;
  for (Node& node : nodes_) {
    if (node.arrived == 0) continue;
    groups.push_back({node.join, node.arrived, node.parent});
    node.expected &= ~node.arrived;
    node.arrived = 0;
    releases = true;
  }
  return releases;
}

void Warp::wait(std::size_t index, LaneMask lanes, Wait what, std::uint32_t barrier) {
  const Group group = groups[index];
  if (lanes != group.lanes) {
    groups.push_back({group.step + 1, group.lanes & ~lanes, group.node});
  }
  groups[index].lanes = lanes;
  groups[index].wait = what;
  groups[index].barrier = barrier;
}

bool Warp::exit(std::size_t index, LaneMask lanes) {
  live &= ~lanes;
  groups[index].lanes &= ~lanes;
  ++groups[index].step;
  const bool goes_on = groups[index].lanes != 0;
  if (!goes_on) groups.erase(groups.begin() + static_cast<std::ptrdiff_t>(index));
  for (Node& node : nodes_) node.expected &= ~lanes;
  complete_nodes();
  return goes_on;
}

}  // namespace recto::ptx

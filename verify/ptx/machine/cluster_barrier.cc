#include "verify/ptx/machine/cluster_barrier.h"

#include <algorithm>
#include <bit>

namespace recto::ptx {

void ClusterBarrier::begin(std::uint32_t blocks, const std::vector<LaneMask>& live) {
  warps_ = live.size();
  states_.clear();
  for (std::uint32_t block = 0; block < blocks; ++block) {
    for (const LaneMask lanes : live) states_.push_back({lanes});
  }
  num_ended_ = 0;
  arriving_.clear();
  ended_.clear();
}

std::string ClusterBarrier::arrive(const ClusterLanes& who) {
  State& own = state(who);
  if ((own.arrived & who.lanes) != 0) {
    return "arrives at the cluster's barrier again before it is complete";
  }
  own.arrived |= who.lanes;
  complete();
  return {};
}

std::string ClusterBarrier::why_no_wait(const ClusterLanes& who) const {
  const State& own = states_[who.rank * warps_ + who.warp];
  const bool has_arrived = (who.lanes & ~(own.arrived | own.released)) == 0;
  return has_arrived ? "" : "waits at the cluster's barrier, and has not arrived there";
}

bool ClusterBarrier::pass(const ClusterLanes& who) {
  State& own = state(who);
  if ((who.lanes & ~own.released) != 0) return false;
  own.released &= ~who.lanes;
  return true;
}

void ClusterBarrier::exit(const ClusterLanes& who) {
  State& own = state(who);
  own.live &= ~who.lanes;
  own.arrived &= ~who.lanes;
  own.released &= ~who.lanes;
  complete();
}

std::uint32_t ClusterBarrier::num_missing() const {
  std::uint32_t missing = 0;
  for (const State& each : states_) {
    missing += static_cast<std::uint32_t>(std::popcount(each.live & ~each.arrived));
  }
  return missing;
}

void ClusterBarrier::complete() {
  const bool has_any = std::any_of(states_.begin(), states_.end(),
                                   [](const State& each) { return each.arrived != 0; });
  if (!has_any || num_missing() != 0) return;
  for (State& each : states_) {
    each.released |= each.arrived;
    each.arrived = 0;
  }
  ++num_ended_;
  merge(ended_, arriving_);
  arriving_.clear();
}

}  // namespace recto::ptx

#pragma once

// The barrier of a cluster's thread blocks: PTX ISA, "barrier.cluster".

#include <cstdint>
#include <string>
#include <vector>

#include "verify/ptx/checks/grid_checker.h"

namespace recto::ptx {

// Lanes of a warp of a thread block.
struct ClusterLanes {
  std::uint32_t rank = 0;
  std::uint32_t warp = 0;
  LaneMask lanes = 0;
};

class ClusterBarrier {
 public:
  // `live`: by warp, the same for all thread blocks.
  void begin(std::uint32_t blocks, const std::vector<LaneMask>& live);

  // Texts that are returned say what is wrong; they are empty if nothing is.
  std::string arrive(const ClusterLanes& who);
  std::string why_no_wait(const ClusterLanes& who) const;
  // Whether all whom these lanes wait for have arrived. If so, they may arrive again.
  bool pass(const ClusterLanes& who);
  void exit(const ClusterLanes& who);

  std::uint32_t num_ended() const { return num_ended_; }
  std::uint32_t num_missing() const;  // threads that have not arrived
  // What threads knew when they arrived, and what those who pass know.
  Clocks& arriving() { return arriving_; }
  const Clocks& ended() const { return ended_; }

 private:
  struct State {
    LaneMask live = 0;
    LaneMask arrived = 0;
    LaneMask released = 0;  // have yet to pass
  };
  State& state(const ClusterLanes& who) { return states_[who.rank * warps_ + who.warp]; }
  void complete();

  std::size_t warps_ = 0;
  std::vector<State> states_;
  std::uint32_t num_ended_ = 0;
  Clocks arriving_;
  Clocks ended_;
};

}  // namespace recto::ptx

#pragma once

// A cluster of thread blocks, which run side by side. Most have one.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "verify/ptx/machine/cluster_barrier.h"
#include "verify/ptx/machine/thread_block.h"

namespace recto::ptx {

class Cluster {
 public:
  explicit Cluster(LaunchRun& run);

  void begin(std::uint64_t index);
  const std::vector<std::unique_ptr<ThreadBlock>>& blocks() const { return blocks_; }

 private:
  LaunchRun& run_;
  std::unique_ptr<ClusterBarrier> barrier_;
  std::vector<std::unique_ptr<ThreadBlock>> blocks_;  // by rank
};

// Runs clusters side by side. False after a finding that forbids to go on.
bool run_to_end(std::span<const Cluster> clusters);

}  // namespace recto::ptx

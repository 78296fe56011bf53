#include "verify/ptx/machine/cluster.h"

#include <algorithm>

namespace recto::ptx {
namespace {

// Steps that a thread block runs before others do.
constexpr std::uint64_t kTurnSteps = 4096;
// How often all waits at mbarriers may end early, without any progress, before they are a deadlock.
constexpr unsigned kExpirationsMax = 64;

using State = ThreadBlock::State;

// Thread blocks that run side by side, and have yet to end.
class Residents {
 public:
  explicit Residents(std::span<const Cluster> clusters) {
    for (const Cluster& cluster : clusters) {
      for (const std::unique_ptr<ThreadBlock>& block : cluster.blocks()) {
        blocks_.push_back(block.get());
      }
    }
  }

  // False after a finding that forbids to go on.
  bool run() {
    const std::uint64_t turn = blocks_.size() == 1 ? UINT64_MAX : kTurnSteps;
    while (!blocks_.empty()) {
      bool is_stuck = true;
      for (ThreadBlock*& block : blocks_) {
        const State state = block->run_for(turn);
        if (state == State::kAbandoned) return false;
        is_stuck &= state == State::kStuck && !block->has_moved();
        if (state == State::kDone) block = nullptr;
      }
      std::erase(blocks_, nullptr);
      if (is_stuck && !blocks_.empty() && !help()) return false;
    }
    return true;
  }

 private:
  // No thread block can go on.
  bool help() {
    bool helps = false;
    for (ThreadBlock* block : blocks_) helps |= block->deliver_copies();
    if (helps) return true;
    std::uint64_t progress = 0;
    for (ThreadBlock* block : blocks_) progress += block->progress();
    expirations_ = progress == progress_ ? expirations_ + 1 : 0;
    progress_ = progress;
    for (ThreadBlock* block : blocks_) {
      if (expirations_ < kExpirationsMax) helps |= block->expire_waits();
    }
    if (!helps) blocks_[0]->report_stuck();
    return helps;
  }

  std::vector<ThreadBlock*> blocks_;
  std::uint64_t progress_ = 0;
  unsigned expirations_ = 0;
};

}  // namespace

Cluster::Cluster(LaunchRun& run) : run_(run), barrier_(std::make_unique<ClusterBarrier>()) {
  for (std::uint64_t i = 0; i < run.shape.cluster.count(); ++i) {
    blocks_.push_back(std::make_unique<ThreadBlock>(run));
  }
}

void Cluster::begin(std::uint64_t index) {
  const Dim3& size = run_.shape.cluster;
  const Dim3& grid = run_.shape.grid;
  const Dim3 clusters = {grid.x / size.x, grid.y / size.y, grid.z / size.z};
  const Dim3 own = clusters.at(index);
  ClusterPlace place;
  for (std::uint64_t rank = 0; rank < blocks_.size(); ++rank) {
    const Dim3 in = size.at(rank);
    const std::uint64_t x = std::uint64_t{own.x} * size.x + in.x;
    const std::uint64_t y = std::uint64_t{own.y} * size.y + in.y;
    const std::uint64_t z = std::uint64_t{own.z} * size.z + in.z;
    place.blocks.push_back((z * grid.y + y) * grid.x + x);
    place.memories.push_back(&blocks_[rank]->memory());
  }
  for (std::uint32_t rank = 0; rank < blocks_.size(); ++rank) {
    place.rank = rank;
    blocks_[rank]->begin(place, *barrier_);
  }
  std::vector<LaneMask> live;
  for (const Warp& warp : blocks_[0]->warps()) live.push_back(warp.live);
  barrier_->begin(static_cast<std::uint32_t>(blocks_.size()), live);
}

bool run_to_end(std::span<const Cluster> clusters) { return Residents(clusters).run(); }

}  // namespace recto::ptx

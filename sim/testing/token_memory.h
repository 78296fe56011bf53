#pragma once

// The contents of the slots of a paged pool: for each slot, a hash of its token and of all tokens
// before it, as seen by the sequence that wrote it. Follows sequences from plan to plan: tokens
// that they compute are written into the slots in their tables; tokens that they do not compute
// must already be there, with their own content.

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "sim/allocators/allocator.h"
#include "sim/simulator.h"

namespace recto::sim {

class TokenMemory final : public SimulationObserver {
 public:
  using Key = std::pair<std::int64_t, std::size_t>;  // request, member

  // The allocator must outlive this object; if it is not paged, nothing is followed.
  TokenMemory(const Allocator& allocator, Batching batching);

  void on_step(const StepPlan& plan, const StepCost& cost, SimTime now) override;
  void on_gauges(const GaugeValues& gauges, const Scheduler& scheduler, SimTime now) override;
  void on_preempted(const SequenceGroup& group, PreemptionKind kind, SimTime now) override;
  void on_finished(const SequenceGroup& group, SimTime now) override;

  // The hash in a block's last slot.
  std::uint64_t block_end(BlockId block) const;

  // For every finished sequence, the hash over all its tokens that were ever cached: its final
  // context.
  const std::map<Key, std::uint64_t>& finished() const { return finished_; }

 private:
  struct Sequence {
    std::vector<std::uint64_t> chain;  // [tokens computed or found, planned ones included]
    std::vector<BlockId> table;        // as of the last plan
  };

  void follow(const Scheduler& scheduler, const SequenceGroup& group, std::size_t member);
  void move(Sequence& sequence, std::span<const BlockId> table);
  std::int64_t planned_writes(const SequenceGroup& group, std::size_t member,
                              std::int64_t context) const;
  std::uint64_t& slot(std::span<const BlockId> table, std::int64_t position);

  const Allocator& allocator_;
  Batching batching_;
  std::vector<std::uint64_t> slots_;  // [pool]
  std::map<Key, Sequence> sequences_;
  std::map<Key, std::uint64_t> finished_;
  bool is_planned_ = false;  // whether a plan has not been followed yet
  bool is_step_ = false;
};

}  // namespace recto::sim

#pragma once

// The state of every slot of the host pool, determined by a walk over all swapped groups.

#include <array>
#include <cstdint>

#include "sim/scheduling/scheduler.h"
#include "sim/testing/slot_map.h"

namespace recto::sim {

struct HostMapOptions {
  std::int64_t slots = 0;
  std::int64_t block_size = 1;
  std::int64_t window = 0;
};

class HostMap {
 public:
  HostMap(const Scheduler& scheduler, const HostMapOptions& options);

  std::int64_t count(SlotState state) const { return counts_[static_cast<std::size_t>(state)]; }

 private:
  void walk(const SequenceGroup& group, const HostMapOptions& options);

  std::array<std::int64_t, 9> counts_{};
};

}  // namespace recto::sim

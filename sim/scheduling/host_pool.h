#pragma once

// A pool of slots in host memory, allocated in whole blocks, for swapped sequences. Tracks only
// amounts, because any host blocks will do.

#include <cstdint>

#include "core/contract.h"
#include "core/units.h"
#include "sim/metrics/pool_account.h"

namespace recto::sim {

class HostPool {
 public:
  HostPool(TokenCount slots, TokenCount block_size)
      : slots_(slots), usable_(slots.value() / block_size.value() * block_size) {}

  bool has_room_for(TokenCount slots) const { return held_.held() + slots <= usable_; }

  // Adds the slots of a swapped group, state by state.
  void hold(const PoolStates& states) {
    RECTO_CHECK(has_room_for(states.held()));
    held_ += states;
  }
  void release(const PoolStates& states) {
    held_ -= states;
    RECTO_CHECK_GE(held_.held(), TokenCount(0));
  }

  // Returns all states; checks that they sum to the pool.
  PoolStates states() const {
    PoolStates states = held_;
    states.free = usable_ - held_.held();
    states.overhead = slots_ - usable_;
    RECTO_CHECK_EQ(states.sum(), slots_);
    return states;
  }

 private:
  TokenCount slots_;
  TokenCount usable_;  // in whole blocks
  PoolStates held_;
};

}  // namespace recto::sim

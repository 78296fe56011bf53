#pragma once

// Where swapped sequences wait: a pool of slots in host memory, given out by whole blocks. Only
// amounts matter here, since any blocks of the host serve.

#include <cstdint>

#include "core/contract.h"
#include "core/units.h"

namespace recto::sim {

class HostPool {
 public:
  HostPool(TokenCount slots, TokenCount block_size)
      : capacity_(slots.value() / block_size.value() * block_size.value()) {}

  bool has_room_for(TokenCount slots) const { return held_ + slots.value() <= capacity_; }

  // `used` of `slots` hold tokens; the rest is the room behind them in their last blocks.
  void hold(TokenCount slots, TokenCount used) {
    RECTO_CHECK(has_room_for(slots));
    held_ += slots.value();
    used_ += used.value();
  }
  void release(TokenCount slots, TokenCount used) {
    held_ -= slots.value();
    used_ -= used.value();
    RECTO_CHECK_GE(held_, used_);
    RECTO_CHECK_GE(used_, 0);
  }

  std::int64_t held() const { return held_; }
  std::int64_t used() const { return used_; }

 private:
  std::int64_t capacity_;
  std::int64_t held_ = 0;
  std::int64_t used_ = 0;
};

}  // namespace recto::sim

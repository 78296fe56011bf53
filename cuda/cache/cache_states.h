#pragma once

// How many slots of a pool are in each state. A slot that several tables share counts once, and is
// used if any holder uses it. Can be read at any time, in O(groups).
//
//   const PoolStates states = manager.states();
//   const TokenCount idle = states.cached + states.free;  // could be had
//   const bool is_half_empty = states.used + states.used < states.sum();

#include "core/units.h"

namespace recto::cache {

// All in slots. used + held_empty + cached + free + overhead add up to the pool.
struct PoolStates {
  TokenCount used{};        // hold a token that a later row of some holder will see
  TokenCount held_empty{};  // held, but not (yet, any more) used: reserved or internal
  TokenCount cached{};      // nobody's, with content that can be found
  TokenCount pinned{};      // the part of cached that cannot be evicted
  TokenCount free{};        // nobody's, without content
  TokenCount overhead{};    // null blocks

  TokenCount sum() const { return used + held_empty + cached + free + overhead; }
  friend bool operator==(const PoolStates&, const PoolStates&) = default;
};

// The part that one layer group holds or has cached, in slots.
struct GroupStates {
  TokenCount used{};
  TokenCount held_empty{};
  TokenCount cached{};
  TokenCount pinned{};

  friend bool operator==(const GroupStates&, const GroupStates&) = default;
};

}  // namespace recto::cache

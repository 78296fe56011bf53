#pragma once

// Tracks how many slots of a pool are in each state, as running sums. Every change costs O(1): it
// is computed from a sequence's logical positions, never by a walk over its slots.
//
// The states of the accounting rules: a held slot at logical position p is *used* if p < context,
// *reserved* if p < final context, else *internal*, in four parts.

#include <cstdint>

#include "core/contract.h"
#include "core/units.h"

namespace recto::sim {

// All in slots. They add up to the pool.
struct PoolStates {
  TokenCount used;
  TokenCount reserved;
  TokenCount over_reservation;  // internal: requested beyond the final context
  TokenCount rounding;          // internal: added by the placement policy
  TokenCount tail;              // internal: the unused rest of the last block
  TokenCount out_of_window;     // internal: no later token will see it
  TokenCount cached;
  TokenCount free;
  TokenCount overhead;

  TokenCount internal() const { return over_reservation + rounding + tail + out_of_window; }
  TokenCount held() const { return used + reserved + internal(); }
  TokenCount sum() const { return held() + cached + free + overhead; }

  PoolStates& operator+=(const PoolStates& other);
  PoolStates& operator-=(const PoolStates& other);

  friend bool operator==(const PoolStates&, const PoolStates&) = default;
};

// The part of PoolStates that sequences hold, updated event by event. Positions are logical;
// `context` and `final_context` have the sequence's values at that time.
class PoolAccount {
 public:
  // `window` 0 means that every token stays visible.
  explicit PoolAccount(TokenCount window = TokenCount(0)) : window_(window) {}

  // Records that a sequence holds slots up to `after` instead of `before`, none of the new ones
  // written.
  void hold(TokenCount before, TokenCount after, TokenCount final_context) {
    const TokenCount wanted = min(after, final_context) - min(before, final_context);
    held_.reserved += wanted;
    held_.tail += (after - before) - wanted;
  }

  // Records that a sequence holds a region of `placed` slots for `requested`, of which it will fill
  // `final_context`.
  void hold_region(TokenCount requested, TokenCount placed, TokenCount final_context) {
    held_.reserved += final_context;
    held_.over_reservation += requested - final_context;
    held_.rounding += placed - requested;
  }

  // Records held slots that already have content: from the cache, or from a copy.
  void hold_written(TokenCount slots) { held_.used += slots; }

  // Records that `count` sequences wrote one token each; in `beyond_window` of them, an old token
  // left the window.
  void write_one_each(std::int64_t count, std::int64_t beyond_window) {
    held_.used += TokenCount(count - beyond_window);
    held_.out_of_window += TokenCount(beyond_window);
    held_.reserved -= TokenCount(count);
  }

  // Records that one sequence grew from `before` to `after` tokens, in slots that it holds.
  void write(TokenCount before, TokenCount after) {
    const TokenCount visible = visible_of(after) - visible_of(before);
    held_.used += visible;
    held_.out_of_window += (after - before) - visible;
    held_.reserved -= after - before;
  }

  // Records that a sequence released slots [0, held). Other sequences still hold `kept` slots below
  // `context`, and `kept_open` more at or beyond it, in the block in which `context` ends.
  void release(TokenCount held, TokenCount context, TokenCount final_context, TokenCount kept,
               TokenCount kept_open);
  void release_region(TokenCount requested, TokenCount placed, TokenCount context,
                      TokenCount final_context);

  // The cached tokens of a context that the next token would still see.
  TokenCount visible_of(TokenCount context) const {
    return window_.value() == 0 ? context : min(context, window_ - TokenCount(1));
  }

  const PoolStates& held() const { return held_; }

 private:
  static TokenCount min(TokenCount a, TokenCount b) { return a < b ? a : b; }

  TokenCount window_;
  PoolStates held_;
};

}  // namespace recto::sim

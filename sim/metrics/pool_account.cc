#include "sim/metrics/pool_account.h"

namespace recto::sim {

PoolStates& PoolStates::operator+=(const PoolStates& other) {
  used += other.used;
  reserved += other.reserved;
  over_reservation += other.over_reservation;
  rounding += other.rounding;
  tail += other.tail;
  out_of_window += other.out_of_window;
  cached += other.cached;
  free += other.free;
  overhead += other.overhead;
  return *this;
}

PoolStates& PoolStates::operator-=(const PoolStates& other) {
  used -= other.used;
  reserved -= other.reserved;
  over_reservation -= other.over_reservation;
  rounding -= other.rounding;
  tail -= other.tail;
  out_of_window -= other.out_of_window;
  cached -= other.cached;
  free -= other.free;
  overhead -= other.overhead;
  return *this;
}

void PoolAccount::release(TokenCount held, TokenCount context, TokenCount final_context,
                          TokenCount kept, TokenCount kept_open) {
  RECTO_CHECK_LE(context, held);
  const TokenCount visible = visible_of(context);
  held_.used -= visible - kept;
  held_.out_of_window -= context - visible;
  // The slots kept open directly follow the context: reserved slots first, then tail slots.
  const TokenCount reserved = min(held, final_context) - context;
  const TokenCount kept_reserved = min(kept_open, reserved);
  held_.reserved -= reserved - kept_reserved;
  held_.tail -= (held - context - reserved) - (kept_open - kept_reserved);
}

void PoolAccount::release_region(TokenCount requested, TokenCount placed, TokenCount context,
                                 TokenCount final_context) {
  const TokenCount visible = visible_of(context);
  held_.used -= visible;
  held_.out_of_window -= context - visible;
  held_.reserved -= final_context - context;
  held_.over_reservation -= requested - final_context;
  held_.rounding -= placed - requested;
}

}  // namespace recto::sim

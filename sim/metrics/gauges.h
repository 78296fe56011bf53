#pragma once

// The quantities tracked over simulated time. A new one needs only an enumerator and a line in the
// table below; means, percentiles, series and output columns follow from the table.

#include <array>
#include <cstddef>
#include <cstdint>

namespace recto::sim {

enum class Gauge : std::uint8_t {
  kUsed,
  kReserved,
  kOverReservation,
  kRounding,
  kTail,
  kOutOfWindow,
  kCached,
  kFree,
  kOverhead,
  kBlockedFree,
  kUnplaceableFree,
  kLargestHole,
  kRunningSequences,
  kRunningRequests,
  kWaitingRequests,
  kTableEntries,
  kHeldBlocks,
  kHostUsed,
  kHostReserved,
  kHostTail,
  kHostOutOfWindow,
  kHostFree,
  kHostOverhead,
};

struct GaugeInfo {
  Gauge gauge;
  const char* name;  // as in reports and CSV columns, with the unit last
};

inline constexpr std::array kGauges{
    GaugeInfo{Gauge::kUsed, "used_slots"},
    GaugeInfo{Gauge::kReserved, "reserved_slots"},
    GaugeInfo{Gauge::kOverReservation, "over_reservation_slots"},
    GaugeInfo{Gauge::kRounding, "rounding_slots"},
    GaugeInfo{Gauge::kTail, "tail_slots"},
    GaugeInfo{Gauge::kOutOfWindow, "out_of_window_slots"},
    GaugeInfo{Gauge::kCached, "cached_slots"},
    GaugeInfo{Gauge::kFree, "free_slots"},
    GaugeInfo{Gauge::kOverhead, "overhead_slots"},
    GaugeInfo{Gauge::kBlockedFree, "blocked_free_slots"},
    GaugeInfo{Gauge::kUnplaceableFree, "unplaceable_free_slots"},
    GaugeInfo{Gauge::kLargestHole, "largest_hole_slots"},
    GaugeInfo{Gauge::kRunningSequences, "running_sequences"},
    GaugeInfo{Gauge::kRunningRequests, "running_requests"},
    GaugeInfo{Gauge::kWaitingRequests, "waiting_requests"},
    GaugeInfo{Gauge::kTableEntries, "table_entries"},
    GaugeInfo{Gauge::kHeldBlocks, "held_blocks"},
    GaugeInfo{Gauge::kHostUsed, "host_used_slots"},
    GaugeInfo{Gauge::kHostReserved, "host_reserved_slots"},
    GaugeInfo{Gauge::kHostTail, "host_tail_slots"},
    GaugeInfo{Gauge::kHostOutOfWindow, "host_out_of_window_slots"},
    GaugeInfo{Gauge::kHostFree, "host_free_slots"},
    GaugeInfo{Gauge::kHostOverhead, "host_overhead_slots"},
};
inline constexpr std::size_t kGaugeCount = kGauges.size();

// One value per gauge, in the order of kGauges.
class GaugeValues {
 public:
  std::int64_t& operator[](Gauge gauge) { return values_[static_cast<std::size_t>(gauge)]; }
  std::int64_t operator[](Gauge gauge) const { return values_[static_cast<std::size_t>(gauge)]; }
  const std::array<std::int64_t, kGaugeCount>& all() const { return values_; }

  friend bool operator==(const GaugeValues&, const GaugeValues&) = default;

 private:
  std::array<std::int64_t, kGaugeCount> values_{};
};

}  // namespace recto::sim

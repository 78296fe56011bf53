#pragma once

// The results of one simulated run as plain numbers. Times are integer nanoseconds, sizes are
// slots; shares are computed where they are shown.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/units.h"
#include "sim/metrics/gauges.h"
#include "sim/metrics/time_weighted.h"

namespace recto::sim {

// Statistics over finished requests. Percentiles are nearest rank, at most 0.4 % off; means are
// exact. All are 0 if the count is 0.
struct LatencySummary {
  std::int64_t count = 0;  // requests with an output of one token have no TPOT
  double mean_ns = 0;
  std::int64_t p50_ns = 0;
  std::int64_t p90_ns = 0;
  std::int64_t p99_ns = 0;
  std::int64_t max_ns = 0;

  friend bool operator==(const LatencySummary&, const LatencySummary&) = default;
};

struct Counters {
  std::int64_t requests_arrived = 0;
  std::int64_t requests_finished = 0;
  std::int64_t requests_rejected = 0;       // could never fit
  std::int64_t requests_within_limits = 0;  // met both latency limits
  std::int64_t preemptions_recompute = 0;
  std::int64_t preemptions_swap = 0;
  std::int64_t steps = 0;
  std::int64_t prefill_tokens = 0;  // computed, recomputed ones included
  std::int64_t decode_tokens = 0;   // computed, over all sequences
  std::int64_t output_tokens = 0;   // handed to users, over all sequences
  std::int64_t recomputed_tokens = 0;
  std::int64_t swapped_out_slots = 0;
  std::int64_t swapped_in_slots = 0;
  std::int64_t prefix_query_tokens = 0;      // context wanted at admission
  std::int64_t prefix_hit_tokens = 0;        // context found cached
  std::int64_t prefix_hit_pairs = 0;         // (query, key) pairs that hits saved
  std::int64_t readmitted_query_tokens = 0;  // wanted by requests that were preempted before
  std::int64_t readmitted_hit_tokens = 0;    // hits of those requests
  std::int64_t copied_slots = 0;             // on the device: copy-on-write, or copies of regions
  std::int64_t beam_switches = 0;

  friend bool operator==(const Counters&, const Counters&) = default;
};

// Sums of the StepCost parts over all steps, and the time stalled by copies to and from the host.
struct TimeSpent {
  SimDuration fixed;
  SimDuration linear;
  SimDuration attention;
  SimDuration copy;
  SimDuration overlap;
  SimDuration swap;

  SimDuration total() const { return fixed + linear + attention + copy + overlap + swap; }
  friend bool operator==(const TimeSpent&, const TimeSpent&) = default;
};

inline constexpr std::size_t kRejectedIdsMax = 100;

struct Report {
  TokenCount pool_slots;
  TokenCount host_pool_slots;
  TokenCount block_size;
  std::string allocator;
  std::string time_model;

  SimDuration makespan;  // first arrival to last answer
  SimDuration covered;   // the time over which gauges are averaged
  bool covers_drain = false;
  std::array<GaugeSummary, kGaugeCount> gauges{};
  std::vector<SeriesWindow> series;

  Counters counters;
  TimeSpent time_spent;
  LatencySummary queueing;    // arrival to first admission
  LatencySummary ttft;        // arrival to first token
  LatencySummary tpot;        // mean gap between later tokens; requests of two tokens and more
  LatencySummary end_to_end;  // arrival to last token
  LatencySummary normalized;  // end to end / output tokens
  std::vector<std::int64_t> rejected_ids;  // the first kRejectedIdsMax

  const GaugeSummary& gauge(Gauge which) const { return gauges[static_cast<std::size_t>(which)]; }

  friend bool operator==(const Report&, const Report&) = default;
};

}  // namespace recto::sim

#pragma once

// Computes how long one step of the engine takes. The simulator counts the work of a step
// (StepLoad); a time model converts the counts to nanoseconds, in parts, so that a report can
// attribute the time.

#include <cstdint>
#include <string>

#include "core/contract.h"
#include "core/units.h"

namespace recto::sim {

// The work of one step, over all its sequences. Counts only: no bytes, no FLOPs, no model.
struct StepLoad {
  std::int64_t decode_sequences = 0;   // each computes one token
  TokenCount decode_kv_tokens;         // KV tokens read by them, shared ones once per reader
  BlockCount decode_kv_blocks;         // block-table entries walked by them
  std::int64_t prefill_sequences = 0;  // each computes a chunk of its prompt
  TokenCount prefill_tokens;           // sum of the chunks
  TokenCount prefill_kv_tokens;        // KV tokens that these chunks attend to, per sequence
  std::int64_t prefill_pairs = 0;      // sum over chunks of (query, visible key) pairs
  TokenCount copied_slots;             // slots copied on the device: copy-on-write

  friend bool operator==(const StepLoad&, const StepLoad&) = default;
};

// The time of one step by part. The parts add up to `total` exactly.
struct StepCost {
  SimDuration fixed;      // launch, scheduling, sampling
  SimDuration linear;     // projections and MLPs: weights read, or FLOPs
  SimDuration attention;  // KV read by decode, pairs computed by prefill
  SimDuration copy;       // copy-on-write
  SimDuration overlap;    // zero or negative: time hidden by a second stream

  SimDuration total() const { return fixed + linear + attention + copy + overlap; }
};

class TimeModel {
 public:
  virtual ~TimeModel() = default;

  // O(1). At least 1 ns, so that time advances with every step.
  virtual StepCost cost(const StepLoad& load) const = 0;

  // One line for reports: which model, and whether its constants were measured or cited.
  virtual std::string describe() const = 0;
};

// Rounds to the nearest nanosecond, halves up. `ns` must be finite, non-negative and below 2^62.
// Plain IEEE arithmetic: the same bits on every machine, as long as the compiler does not contract
// it.
inline SimDuration round_ns(double ns) {
  RECTO_CHECK_GE(ns, 0.0);
  RECTO_CHECK_LT(ns, 4611686018427387904.0);
  return SimDuration(static_cast<std::int64_t>(ns + 0.5));
}

// Ensures that time advances with every step: a cost that rounds to 0 gets 1 ns of fixed time.
inline StepCost at_least_one_ns(StepCost cost) {
  if (cost.total() < SimDuration(1)) cost.fixed += SimDuration(1) - cost.total();
  return cost;
}

}  // namespace recto::sim

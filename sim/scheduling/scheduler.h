#pragma once

// Decides which sequences compute which tokens in the next step. A scheduler owns the requests in
// flight and drives the allocator; it uses time only to stamp requests.

#include <cstdint>
#include <vector>

#include "core/units.h"
#include "sim/metrics/gauges.h"
#include "sim/scheduling/sequence_group.h"
#include "sim/time/time_model.h"

namespace recto::sim {

enum class PrefillRule : std::uint8_t {
  kChunked,  // a prompt may be computed over several steps, within the token budget
  kWhole,    // in one step; a prompt beyond the budget is the only prefill of its step
};

enum class AdmissionRule : std::uint8_t {
  kWholePrompt,  // admit when the whole prompt fits
  kFirstChunk,   // admit when its first chunk fits
};

enum class PreemptionRule : std::uint8_t {
  kRecompute,  // forget the context; compute it again later
  kSwap,       // copy it to the host; recompute if the host has no room
};

struct SchedulerOptions {
  std::int64_t max_sequences = 256;
  TokenCount max_batched_tokens{2048};  // per step; at least max_sequences
  PrefillRule prefill = PrefillRule::kChunked;
  AdmissionRule admission = AdmissionRule::kWholePrompt;
  TokenCount watermark{0};  // slots that an admission must leave free
  PreemptionRule preemption = PreemptionRule::kRecompute;
  TokenCount host_pool{0};      // slots for swapped sequences
  TokenCount max_length{2048};  // longest context served; longer requests are rejected
  TokenCount window{0};         // sliding window of the model; 0: none. Excludes shared blocks
  double beam_switch_probability = 0;  // per step, that a beam is replaced by a fork of another
  std::uint64_t seed = 0;
};

struct StepPlan {
  enum class Kind : std::uint8_t {
    kIdle,     // nothing can run before the next arrival
    kStep,     // compute `load`
    kSwapOut,  // move `transfer` to the host first; then plan again
    kSwapIn,
  };
  Kind kind = Kind::kIdle;
  StepLoad load{};
  TokenCount transfer{};
};

enum class PreemptionKind : std::uint8_t { kRecompute, kSwap };

// Observes requests. Calls come in order of simulated time.
class SchedulerObserver {
 public:
  virtual ~SchedulerObserver() = default;
  virtual void on_arrived(const SequenceGroup&, SimTime) {}
  virtual void on_rejected(const Request&, SimTime) {}
  virtual void on_admitted(const SequenceGroup&, SimTime) {}  // again after each preemption
  virtual void on_first_token(const SequenceGroup&, SimTime) {}
  virtual void on_preempted(const SequenceGroup&, PreemptionKind, SimTime) {}
  virtual void on_finished(const SequenceGroup&, SimTime) {}
};

class Scheduler {
 public:
  virtual ~Scheduler() = default;

  virtual void enqueue(const Request& request, SimTime now) = 0;

  // Decides the next step and allocates its slots. After kStep, call `complete`; after a swap,
  // `complete` and then `plan` again; after kIdle, `enqueue`. The plan is valid until the next call
  // of `plan`.
  virtual const StepPlan& plan(SimTime now) = 0;
  virtual void complete(SimTime now) = 0;

  // Returns the current values of all gauges; checks that the states add up to the pool. O(1),
  // except for asking the allocator whether the head of the queue fits.
  virtual GaugeValues gauges() const = 0;

  // For exhaustive checks: all groups that hold slots on the device or the host, and the number of
  // tokens that a member of a group has in the device cache now.
  virtual std::vector<const SequenceGroup*> holders() const = 0;
  virtual std::int64_t context(const SequenceGroup& group, std::size_t member) const = 0;
};

}  // namespace recto::sim

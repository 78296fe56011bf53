#pragma once

// A request in flight: the sequences that it decodes into, which have one lifetime. While they
// decode they all have the same context, so that one queue entry serves them all.

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/random_stream.h"
#include "core/units.h"
#include "sim/allocators/allocator.h"
#include "sim/request.h"

namespace recto::sim {

enum class SequenceGroupPhase : std::uint8_t {
  kWaiting,     // holds nothing on the device or the host
  kPrefilling,  // part of its prompt is computed
  kDecoding,    // every step computes one token per member
  kSwappingOut,
  kSwapped,  // its slots are on the host
  kSwappingIn,
  kAnswered,  // finished, but its batch is not
};

// When each beam is next replaced by a fork of another one, as a context length.
struct BeamSwitches {
  explicit BeamSwitches(RandomStream beam_stream) : stream(beam_stream) {}

  RandomStream stream;
  std::vector<std::int64_t> next_context;  // [width]
};

struct SequenceGroup {
  Request request;
  SequenceGroupPhase phase = SequenceGroupPhase::kWaiting;
  std::vector<SequenceId> members;

  // Tokens of context in the cache. For a decoding group, the value at `anchor_clock`; since then
  // it has grown by one with every tick of the decode clock.
  std::int64_t context = 0;
  std::int64_t anchor_clock = 0;

  // Prefill computes the members one after the other: [context, prefill_target) of the first, then
  // the tokens that each further member does not share with it.
  std::int64_t prefill_target = 0;
  std::size_t prefill_member = 0;
  std::int64_t prefill_context = 0;  // context of that member
  std::int64_t planned_chunk = 0;    // tokens that the current step computes

  // The largest context ever computed: computing below it again is waste. The newest token of a
  // preempted group was sampled but not computed; members up to `refilled_members` have computed it
  // since.
  std::int64_t computed_once = 0;
  std::size_t refilled_members = 0;
  std::int64_t preemptions = 0;
  bool beyond_window = false;

  bool was_admitted = false;
  bool has_first_token = false;
  SimTime admitted;
  SimTime first_token;

  std::unique_ptr<BeamSwitches> beams;
  std::optional<TableShape> parked;  // the tables of a swapped group

  std::int64_t width() const { return static_cast<std::int64_t>(members.size()); }
  std::int64_t final_context() const { return request.final_context().value(); }
};

// The index of a group in the scheduler's table; reused after the group has ended.
using GroupIndex = std::int32_t;

}  // namespace recto::sim

#pragma once

// The pending events of a simulation. Events are totally ordered by (time, priority, sequence
// number), so that the order of simultaneous events never depends on the container. The container
// is a sorted array, since few events are pending at a time: the end of a step and the next
// arrival.

#include <cstdint>
#include <tuple>
#include <vector>

#include "core/contract.h"
#include "core/units.h"

namespace recto::sim {

// Among simultaneous events, smaller values come first: a step ends and returns its slots before a
// request that arrives at the same time is considered.
enum class EventKind : std::uint8_t { kStepEnd = 0, kTransferEnd = 1, kArrival = 2 };

struct Event {
  SimTime time;
  EventKind kind = EventKind::kArrival;  // also its priority
  std::uint64_t sequence_number = 0;     // order in which events were scheduled
};

class EventQueue {
 public:
  // Schedules an event at or after `now()`. O(earlier events).
  void schedule(SimTime time, EventKind kind) {
    RECTO_CHECK_GE(time, now_);
    const Event event{time, kind, next_sequence_number_++};
    auto place = events_.end();
    while (place != events_.begin() && is_later(event, *(place - 1))) --place;
    events_.insert(place, event);
  }

  // Removes and returns the earliest event and advances time to it. The queue must not be empty.
  Event pop() {
    const Event event = events_.back();
    events_.pop_back();
    now_ = event.time;
    return event;
  }

  bool empty() const { return events_.empty(); }
  SimTime next_time() const { return events_.back().time; }
  SimTime now() const { return now_; }

 private:
  static bool is_later(const Event& a, const Event& b) {
    return std::tie(a.time, a.kind, a.sequence_number) >
           std::tie(b.time, b.kind, b.sequence_number);
  }

  std::vector<Event> events_;  // latest first
  std::uint64_t next_sequence_number_ = 0;
  SimTime now_;
};

}  // namespace recto::sim
